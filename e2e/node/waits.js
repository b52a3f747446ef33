// Waits of JavaScript: a worker that sleeps since long, short sleeps, programs that are waited for, and a pipe.
//
//     waits.js FIFO
const child = require('child_process');
const fs = require('fs');
const worker = require('worker_threads');

const cell = new Int32Array(new SharedArrayBuffer(4));

function longSleep() {
    Atomics.wait(cell, 0, 0, 4000);
}

function outerLong() {
    longSleep();
}

function shortSleep() {
    for (let i = 0; i < 10; i++)
        Atomics.wait(cell, 0, 0, 50);
}

function runShell() {
    child.execSync('sleep 0.5');
}

function runProgram() {
    child.spawnSync('sleep', ['0.5']);
}

function readPipe() {
    const pipe = fs.openSync(process.argv[2], 'r');
    fs.readSync(pipe, Buffer.alloc(1));
    fs.closeSync(pipe);
}

function waits() {
    shortSleep();
    runShell();
    runProgram();
    child.spawn('sh', ['-c', 'exec 3>"$0"; sleep 0.5; echo >&3', process.argv[2]], {stdio: 'ignore'});
    readPipe();
}

if (worker.isMainThread) {
    new worker.Worker(__filename).on('message', function begin() {
        setTimeout(() => {
            fs.writeSync(1, 'ready\n');
            fs.readSync(0, Buffer.alloc(1));
            waits();
        }, 200); // by then the worker sleeps
    });
} else {
    worker.parentPort.postMessage('here');
    outerLong();
}
