/**
 * The template of a plugin in Rust. It brings its own declarations, so that it builds without any crate.
 *
 * @module
 */

import { ACTION_NAMES, EVENT_NAMES } from "../codes.ts";

/**
 * The files of a new Rust plugin.
 *
 * @param name The plugin's name.
 * @param crate The name in identifiers.
 * @returns Path and text of each file.
 */
export function rustTemplate(
  name: string,
  crate: string,
): Record<string, string> {
  return {
    "Cargo.toml": `[package]
name = "${crate}"
version = "0.1.0"
edition = "2021"
publish = false

[lib]
crate-type = ["cdylib"]

[profile.release]
debug = 1

[workspace]
`,
    "src/abi.rs": rustAbi(),
    "src/lib.rs": source(crate),
    "Makefile":
      `# dist/ is the plugin: what "bulkhead plugins install dist" takes.
all:
\tcargo build --release --offline
\t@mkdir -p dist
\tcp target/release/lib${crate}.so plugin.toml dist/

verify: all
\tbulkhead abi verify dist/lib${crate}.so

clean:
\trm -rf dist target

.PHONY: all verify clean
`,
    "plugin.toml":
      `name = "${name}"\nversion = "0.1.0"\n\n[native]\nlibrary = "lib${crate}.so"\n`,
    "README.md": `# ${name}

A native agent plugin (rpi plugin ABI 4) in Rust, without dependencies.

    make
    bulkhead abi inspect dist/lib${crate}.so
    bulkhead abi call dist/lib${crate}.so ${crate}_count --args '{"to":3}'
    bulkhead abi verify dist/lib${crate}.so

\`src/abi.rs\` holds the declarations of the ABI; change the tool in \`src/lib.rs\`. A panic must not leave an
\`extern "C"\` function: each of them runs its body in \`catch_unwind\`.
`,
    ".gitignore": "dist/\ntarget/\nCargo.lock\n",
  };
}

/**
 * The declarations of the ABI in Rust.
 *
 * @returns The text of \`abi.rs\`.
 */
function rustAbi(): string {
  return `//! The rpi plugin ABI, version 4. Plain data and functions: nothing with a Drop crosses the border.
#![allow(dead_code)]

use core::ffi::c_void;
use core::mem::size_of;

pub const ABI_VERSION: u32 = 4;

/// Owned: whoever receives it frees it once, through the free function of the side that made it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StbString {
    pub ptr: *mut u8,
    pub len: usize,
}

/// Borrowed for one call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StbStringRef {
    pub ptr: *const u8,
    pub len: usize,
}

#[repr(C)]
pub struct ToolSchema {
    pub name: StbString,
    pub description: StbString,
    pub parameters: StbString,
}

pub const PENDING: u32 = 0;
pub const DONE: u32 = 1;
pub const ERR: u32 = 2;

#[repr(C)]
pub struct StepResult {
    pub tag: u32,
    pub text: StbString,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ToolCallPayload {
    pub tool_call_id: StbString,
    pub tool_name: StbString,
    pub params: StbString,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ToolResultPayload {
    pub tool_call_id: StbString,
    pub tool_name: StbString,
    pub result: StbString,
    pub is_error: u8,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub union EventPayload {
    pub text: StbString,
    pub tool_call: ToolCallPayload,
    pub tool_result: ToolResultPayload,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    pub tag: u32,
    pub payload: EventPayload,
}

${
    EVENT_NAMES.map((name, tag) =>
      `pub const EVENT_${upper(name)}: u32 = ${tag};`
    ).join("\n")
  }

pub const CONTINUE: i32 = 0;
pub const ERROR: i32 = 1;
pub const ABORT: i32 = 2;
pub const CLAIMED: i32 = 3;

${
    ACTION_NAMES.map((name, id) =>
      `pub const ACTION_${upper(name)}: u32 = ${id};`
    ).join("\n")
  }

pub type FreeFn = extern "C" fn(StbString);
pub type ExecuteFn = extern "C" fn(StbStringRef, StbString, Option<FreeFn>) -> *mut c_void;
pub type PartialFn = extern "C" fn(StbString, *mut c_void);
pub type PollFn = extern "C" fn(*mut c_void, Option<PartialFn>, *mut c_void) -> StepResult;
pub type HandleFn = extern "C" fn(*mut c_void);
pub type EventFn = extern "C" fn(Event, *mut c_void) -> i32;
pub type RequestFn = extern "C" fn(StbStringRef, *mut StbString, *mut c_void) -> i32;
pub type DiscoverFn = extern "C" fn(StbStringRef, StbStringRef, *mut StbString, *mut c_void) -> i32;
pub type ActionFn = extern "C" fn(u32, StbStringRef, *mut StbString, *mut c_void) -> i32;
pub type RendererSlot = Option<extern "C" fn(StbStringRef, RequestFn, FreeFn, *mut c_void) -> i32>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct PluginApi {
    pub abi_version: u32,
    pub struct_size: u32,
    pub free_string: FreeFn,
    pub register_tool:
        Option<extern "C" fn(*const ToolSchema, ExecuteFn, PollFn, HandleFn, HandleFn, FreeFn) -> i32>,
    pub register_command: Option<extern "C" fn(StbStringRef, StbStringRef, RequestFn) -> i32>,
    pub register_shortcut: Option<extern "C" fn(StbStringRef, StbStringRef) -> i32>,
    pub register_flag: Option<extern "C" fn(StbStringRef, StbStringRef) -> i32>,
    pub register_provider: Option<
        extern "C" fn(StbStringRef, StbStringRef, StbStringRef, RequestFn, FreeFn, *mut c_void) -> i32,
    >,
    pub register_message_renderer: RendererSlot,
    pub register_markdown_transformer: RendererSlot,
    pub register_entry_renderer: RendererSlot,
    pub register_event_handler: Option<extern "C" fn(u32, EventFn, *mut c_void) -> i32>,
    pub register_resources_discover: Option<extern "C" fn(DiscoverFn, FreeFn, *mut c_void) -> i32>,
    pub runtime_action: ActionFn,
    pub dispatch_event: Option<extern "C" fn(Event, *mut c_void) -> i32>,
    pub user_data: *mut c_void,
    pub declare: Option<extern "C" fn(StbStringRef) -> i32>,
    pub register_before_agent_start: Option<extern "C" fn(RequestFn, FreeFn, *mut c_void) -> i32>,
    pub register_oauth_provider: RendererSlot,
}

const _: () = {
    assert!(size_of::<StbString>() == 16 && size_of::<ToolSchema>() == 48);
    assert!(size_of::<StepResult>() == 24 && size_of::<Event>() == 64);
    assert!(size_of::<PluginApi>() == 144);
};

impl StbString {
    pub const EMPTY: StbString = StbString { ptr: core::ptr::null_mut(), len: 0 };

    /// Gives a string away; the other side hands it to [\`plugin_free\`].
    pub fn new(text: String) -> StbString {
        if text.is_empty() {
            return StbString::EMPTY;
        }
        let bytes = text.into_bytes().into_boxed_slice();
        let len = bytes.len();
        StbString { ptr: Box::into_raw(bytes) as *mut u8, len }
    }

    /// Copies the text; the string itself still has to be freed by whoever owns it.
    ///
    /// # Safety
    /// The other side must have given a valid string.
    pub unsafe fn to_text(&self) -> String {
        StbStringRef { ptr: self.ptr, len: self.len }.to_text()
    }
}

impl StbStringRef {
    pub fn new(text: &'static str) -> StbStringRef {
        StbStringRef { ptr: text.as_ptr(), len: text.len() }
    }

    /// Copies the text.
    ///
    /// # Safety
    /// The other side must have given a valid string.
    pub unsafe fn to_text(&self) -> String {
        if self.ptr.is_null() || self.len == 0 {
            return String::new();
        }
        String::from_utf8_lossy(core::slice::from_raw_parts(self.ptr, self.len)).into_owned()
    }
}

/// Frees strings made by [\`StbString::new\`].
pub extern "C" fn plugin_free(s: StbString) {
    if s.ptr.is_null() || s.len == 0 {
        return;
    }
    unsafe { drop(Box::from_raw(core::ptr::slice_from_raw_parts_mut(s.ptr, s.len))) }
}

/// Text as a JSON string.
pub fn json_string(text: &str) -> String {
    let mut out = String::from("\\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\\\\""),
            '\\\\' => out.push_str("\\\\\\\\"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A tool result of one text.
pub fn text_result(text: &str) -> String {
    format!("{{\\"content\\":[{{\\"type\\":\\"text\\",\\"text\\":{}}}]}}", json_string(text))
}
`;
}

function upper(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();
}

function source(crate: string): string {
  return `//! A tool that counts: progress, cancel, result and error, each by the rules of the ABI.

mod abi;

use abi::*;
use core::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};

/// One call. The host polls it from any thread, but never from two at once.
struct Call {
    /// Set from another thread at any time.
    cancelled: AtomicBool,
    at: i64,
    to: i64,
}

extern "C" fn execute(_id: StbStringRef, params: StbString, free_params: Option<FreeFn>) -> *mut c_void {
    catch_unwind(|| {
        let text = unsafe { params.to_text() };
        // Ours since the call: give it back once.
        if let Some(free) = free_params {
            free(params);
        }
        // A real plugin uses a JSON parser. Unknown keys such as "__rpi" must be tolerated.
        let digits: String = text
            .split("\\"to\\":")
            .nth(1)
            .unwrap_or("1")
            .trim_start()
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '-')
            .collect();
        let to = digits.parse().unwrap_or(-1);
        Box::into_raw(Box::new(Call { cancelled: AtomicBool::new(false), at: 0, to })) as *mut c_void
    })
    .unwrap_or(core::ptr::null_mut())
}

fn step(call: &mut Call) -> (u32, String) {
    if call.cancelled.load(Ordering::SeqCst) {
        return (ERR, "cancelled".into());
    }
    if !(0..=1000).contains(&call.to) {
        return (ERR, "\\"to\\" must lie between 0 and 1000".into());
    }
    if call.at < call.to {
        call.at += 1;
        return (PENDING, text_result(&call.at.to_string()));
    }
    (DONE, text_result(&format!("counted to {}", call.to)))
}

extern "C" fn poll(handle: *mut c_void, _partial: Option<PartialFn>, _user_data: *mut c_void) -> StepResult {
    let call = unsafe { &mut *(handle as *mut Call) };
    let (tag, text) =
        catch_unwind(AssertUnwindSafe(|| step(call))).unwrap_or_else(|_| (ERR, "the tool panicked".into()));
    StepResult { tag, text: StbString::new(text) }
}

extern "C" fn cancel(handle: *mut c_void) {
    if !handle.is_null() {
        unsafe { (*(handle as *mut Call)).cancelled.store(true, Ordering::SeqCst) }
    }
}

extern "C" fn destroy(handle: *mut c_void) {
    if !handle.is_null() {
        unsafe { drop(Box::from_raw(handle as *mut Call)) }
    }
}

fn register(api: &PluginApi) -> i32 {
    let register_tool = match api.register_tool {
        Some(slot) => slot,
        None => return 3,
    };
    // The host copies the strings and frees them before this returns.
    let schema = ToolSchema {
        name: StbString::new("${crate}_count".into()),
        description: StbString::new("Counts to a number and reports each step".into()),
        parameters: StbString::new(
            r#"{"type":"object","properties":{"to":{"type":"integer","minimum":0,"maximum":1000}},"required":["to"]}"#
                .into(),
        ),
    };
    register_tool(&schema, execute, poll, cancel, destroy, plugin_free)
}

/// The entry point: 0 keeps the plugin.
///
/// # Safety
/// The host passes a valid table or NULL.
#[no_mangle]
pub unsafe extern "C" fn rpi_plugin_register(api: *const PluginApi) -> i32 {
    if api.is_null() {
        return 2;
    }
    if (*api).abi_version != ABI_VERSION {
        return 1;
    }
    if ((*api).struct_size as usize) < core::mem::size_of::<PluginApi>() {
        return 3;
    }
    catch_unwind(AssertUnwindSafe(|| register(&*api))).unwrap_or(70)
}
`;
}
