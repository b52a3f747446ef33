function fib(n) {
    return n < 2 ? n
        : fib(n - 1) + fib(n - 2);
}
function work(end) { let s = 0; while (Date.now() < end) s += fib(20); return s; }
console.log(work(Date.now() + 1500));
