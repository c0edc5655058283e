import Foundation
import Synchronization
import TestSupport

/// A terminal of a given width, whose other side is read into memory.
final class PseudoTerminal: Sendable {
    struct Failure: Error {}

    private let controller: Int32
    /// What a process gets as its terminal.
    let terminal: FileHandle
    private let shown = Mutex<[UInt8]>([])

    init(columns: UInt16) throws {
        controller = posix_openpt(O_RDWR | O_NOCTTY)
        guard controller >= 0, grantpt(controller) == 0, unlockpt(controller) == 0, let name = ptsname(controller)
        else { throw Failure() }
        let descriptor = open(name, O_RDWR | O_NOCTTY)
        guard descriptor >= 0 else { throw Failure() }
        terminal = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try resize(columns: columns)
    }

    deinit { close(controller) }

    func resize(columns: UInt16) throws {
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(controller, UInt(TIOCSWINSZ), &size) == 0 else { throw Failure() }
    }

    /// All that was written to it until now.
    var text: String {
        shown.withLock { shown in
            var state = pollfd(fd: controller, events: Int16(POLLIN), revents: 0)
            while poll(&state, 1, 0) > 0, state.revents & Int16(POLLIN) != 0 {
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let count = read(controller, &bytes, bytes.count)
                guard count > 0 else { break }
                shown += bytes.prefix(count)
            }
            return String(decoding: shown, as: UTF8.self)
        }
    }

    /// The lines that were rewritten in place.
    var progress: [String] {
        text.split(separator: "\r\u{1B}[2K").map { String($0.prefix { !$0.isNewline }) }
    }
}
