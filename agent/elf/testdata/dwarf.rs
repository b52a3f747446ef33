#![no_std]
#![no_main]
#[inline(always)]
fn inner(x: u32) -> u32 {
    unsafe { core::ptr::read_volatile(&x) } // line 5
}
#[inline(never)]
#[no_mangle]
pub fn around(x: u32) -> u32 {
    inner(x) + 1 // line 10
}
#[no_mangle]
pub extern "C" fn _start() -> ! {
    around(1);
    loop {}
}
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
