// The same in Rust: iterators, a sort with a closure, a map.
use std::collections::HashMap;
use std::time::{Duration, Instant};

#[inline(never)]
fn count_words(text: &str) -> Vec<(String, u32)> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for w in text.split_whitespace() {
        *counts.entry(w).or_insert(0) += 1;
    }
    let mut all: Vec<_> = counts.into_iter().map(|(w, n)| (w.to_string(), n)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    all
}

fn main() {
    let ms = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(200);
    let text: String = (0..300).map(|i| format!("word{} ", i * 7919 % 101)).collect();
    let start = Instant::now();
    let mut n = 0;
    while start.elapsed() < Duration::from_millis(ms) {
        n += count_words(&text).len();
    }
    println!("{n}");
}
