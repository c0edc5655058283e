//! Prints the JSON of the receipt on standard input. A folder with libreceipt_bridge.so is in LIB:
//!
//!     rustc decode.rs -L "$LIB" -C link-arg=-Wl,-rpath,"$LIB" -o decode
//!     ./decode <receipt.b64

use std::ffi::{c_char, CStr};
use std::io::{Read, Result, Write};

#[link(name = "receipt_bridge")]
extern "C" {
    fn receipt_bridge_decode(bytes: *const u8, length: usize, options: *const c_char) -> *mut c_char;
    fn receipt_bridge_free(json: *mut c_char);
}

/// Returns the JSON of a value.
fn decode(value: &[u8]) -> Vec<u8> {
    unsafe {
        let json = receipt_bridge_decode(value.as_ptr(), value.len(), std::ptr::null());
        assert!(!json.is_null(), "out of memory");
        let copy = CStr::from_ptr(json).to_bytes().to_vec();
        receipt_bridge_free(json);
        copy
    }
}

fn main() -> Result<()> {
    let mut receipt = Vec::new();
    std::io::stdin().read_to_end(&mut receipt)?;
    std::io::stdout().write_all(&decode(&receipt))
}
