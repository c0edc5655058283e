import Foundation

/// Memory of this process.
package enum Memory {
    /// Bytes that were resident at once since ``forget()``; 0 if the system does not say.
    package static var peak: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0) << 10
    }

    /// AddressSanitizer keeps what was freed.
    package static let isSanitized = dlsym(nil, "__asan_init") != nil

    package static func forget() {
        guard let file = FileHandle(forWritingAtPath: "/proc/self/clear_refs") else { return }
        try? file.write(contentsOf: Data("5".utf8))
    }
}
