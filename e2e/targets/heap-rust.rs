//! Allocates in the ways that Rust has, on one call path each, and frees in another thread. Prints its own books, a
//! line per path, as heap.c does.   heap-rust ROUNDS
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::hint::black_box;
use std::sync::Arc;

#[derive(Default, Clone, Copy)]
struct Book {
    objects: usize,
    bytes: usize,
    held_objects: usize,
    held_bytes: usize,
}
struct Held {
    place: usize,
    layout: Layout,
    path: usize,
}
struct Books {
    of: [Book; 8],
    held: Vec<Held>,
}
impl Books {
    fn allocates(&mut self, path: usize, size: usize) {
        self.of[path].objects += 1;
        self.of[path].bytes += size;
        self.of[path].held_objects += 1;
        self.of[path].held_bytes += size;
    }
    fn frees(&mut self, path: usize, size: usize) {
        self.of[path].held_objects -= 1;
        self.of[path].held_bytes -= size;
    }
    fn keeps(&mut self, path: usize, place: *mut u8, layout: Layout) {
        self.allocates(path, layout.size());
        self.held.push(Held { place: place as usize, layout, path });
    }
}

#[inline(never)]
fn path_1(books: &mut Books, n: usize) {
    let layout = Layout::from_size_align(n, 8).unwrap();
    books.keeps(1, unsafe { alloc(layout) }, layout);
}
#[inline(never)]
fn path_2(books: &mut Books, n: usize) {
    let layout = Layout::from_size_align(n, 8).unwrap();
    books.keeps(2, unsafe { alloc_zeroed(layout) }, layout);
}
#[inline(never)]
fn path_3(books: &mut Books, n: usize) {
    let layout = Layout::from_size_align(n, 256).unwrap(); // more than malloc aligns to
    books.keeps(3, unsafe { alloc(layout) }, layout);
}
#[inline(never)]
fn path_4(books: &mut Books, n: usize) {
    let small = Layout::from_size_align(n, 8).unwrap();
    let large = Layout::from_size_align(n * 2, 8).unwrap();
    books.allocates(4, n);
    let place = unsafe { realloc(alloc(small), small, n * 2) };
    books.frees(4, n);
    books.keeps(4, place, large);
}
#[inline(never)]
fn path_5(books: &mut Books, n: usize) {
    let text = black_box(String::with_capacity(n));
    books.allocates(5, text.capacity());
    books.frees(5, text.capacity());
}
#[inline(never)]
fn path_6(books: &mut Books, _: usize) {
    let shared = black_box(Arc::new([0u64; 30])); // two counts before it
    books.allocates(6, 240 + 16);
    drop(shared);
    books.frees(6, 240 + 16);
}
#[inline(never)]
fn path_7(books: &mut Books, n: usize) {
    let mut grows: Vec<u64> = Vec::new();
    let mut was = 0;
    for i in 0..n % 100 {
        grows.push(i as u64);
        if grows.capacity() != was {
            books.allocates(7, grows.capacity() * 8);
            if was != 0 {
                books.frees(7, was * 8);
            }
            was = grows.capacity();
        }
    }
    black_box(&grows);
    if was != 0 {
        books.frees(7, was * 8);
    }
}

fn main() {
    let rounds: usize = std::env::args().nth(1).map_or(100, |n| n.parse().unwrap());
    let mut books = Books { of: [Book::default(); 8], held: Vec::with_capacity(8 * rounds) };
    for i in 0..rounds {
        for path in [path_1, path_2, path_3, path_4, path_5, path_6, path_7] {
            path(&mut books, i * 7919 % 3000 + 1);
        }
    }
    let half: Vec<Held> = books.held.drain(..).step_by(2).collect();
    for h in &half {
        books.frees(h.path, h.layout.size());
    }
    std::thread::spawn(move || {
        for h in half {
            unsafe { dealloc(h.place as *mut u8, h.layout) };
        }
    })
    .join()
    .unwrap();
    for (i, b) in books.of.iter().enumerate().skip(1) {
        println!("path_{i} {} {} {} {}", b.objects, b.bytes, b.held_objects, b.held_bytes);
    }
}
