//! The same as locks.c, with std::sync::Mutex, or with --cfg parking_lot that of this crate: a static one and one in a
//! Box. A fourth number is how long, in ns, the waiting thread was on run queues meanwhile: parking_lot gives up the CPU
//! (sched_yield) some times before it waits, and what others do then is no wait for the lock.
use std::io::Read;
use std::sync::{Arc, Barrier};
use std::thread::{sleep, Builder, JoinHandle};
use std::time::{Duration, Instant};

#[cfg(not(parking_lot))]
mod kind {
    pub use std::sync::{Mutex, MutexGuard};
    pub fn lock(mutex: &Mutex<u32>) -> MutexGuard<'_, u32> {
        mutex.lock().unwrap()
    }
    pub fn is_free(mutex: &Mutex<u32>) -> bool {
        mutex.try_lock().is_ok()
    }
}
#[cfg(parking_lot)]
mod kind {
    pub use parking_lot::{Mutex, MutexGuard};
    pub fn lock(mutex: &Mutex<u32>) -> MutexGuard<'_, u32> {
        mutex.lock()
    }
    pub fn is_free(mutex: &Mutex<u32>) -> bool {
        mutex.try_lock().is_some()
    }
}
use kind::Mutex;

static OWN: Mutex<u32> = Mutex::new(0);

struct Own;

trait Lock: Send + Sync + 'static {
    fn mutex(&self) -> &Mutex<u32>;
}
impl Lock for Own {
    fn mutex(&self) -> &Mutex<u32> {
        &OWN
    }
}
impl Lock for Box<Mutex<u32>> {
    fn mutex(&self) -> &Mutex<u32> {
        self
    }
}

#[derive(Default, Clone, Copy)]
struct Waits {
    number: u64,
    ns: u64,
    queued: u64,
}

fn queued() -> u64 {
    let sums = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    sums.split(' ').nth(1).unwrap().parse().unwrap()
}

#[inline(always)]
fn take(mutex: &Mutex<u32>) -> Waits {
    if kind::is_free(mutex) {
        return Waits::default();
    }
    let before = queued();
    let from = Instant::now();
    let guard = kind::lock(mutex);
    let ns = from.elapsed().as_nanos() as u64;
    drop(guard);
    Waits { number: 1, ns, queued: queued() - before }
}

#[no_mangle]
#[inline(never)]
fn take_static(mutex: &Mutex<u32>) -> Waits {
    std::hint::black_box("static"); // or both are one function
    take(mutex)
}

#[no_mangle]
#[inline(never)]
fn take_heap(mutex: &Mutex<u32>) -> Waits {
    std::hint::black_box("heap");
    take(mutex)
}

type Take = fn(&Mutex<u32>) -> Waits;

fn contend(name: &'static str, hold: u64, rounds: u64, lock: Arc<dyn Lock>, by: Take) -> [JoinHandle<Waits>; 2] {
    let at = Arc::new(Barrier::new(2));
    let (lock2, at2) = (lock.clone(), at.clone());
    let holder = move || {
        for _ in 0..rounds {
            let guard = kind::lock(lock.mutex());
            at.wait();
            sleep(Duration::from_millis(hold));
            drop(guard);
            at.wait();
        }
        Waits::default()
    };
    let waiter = move || {
        let mut sum = Waits::default();
        for _ in 0..rounds {
            at2.wait();
            let one = by(lock2.mutex());
            sum.number += one.number;
            sum.ns += one.ns;
            sum.queued += one.queued;
            at2.wait();
        }
        sum
    };
    [Builder::new().name(name.into()).spawn(holder).unwrap(), Builder::new().spawn(waiter).unwrap()]
}

fn main() {
    let _ = std::io::stdin().read(&mut [0]);
    let rounds = std::env::args().nth(1).unwrap().parse().unwrap();
    let boxed: Box<Mutex<u32>> = Box::new(Mutex::new(0));
    let all = [
        ("static", contend("static", 10, rounds, Arc::new(Own), take_static)),
        ("heap", contend("heap", 20, rounds, Arc::new(boxed), take_heap)),
    ];
    for (name, [holder, waiter]) in all {
        holder.join().unwrap();
        let Waits { number, ns, queued } = waiter.join().unwrap();
        println!("{name} {number} {ns} {queued}");
    }
}
