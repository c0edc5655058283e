import Foundation
import Synchronization
import ReceiptBridgeTestSupport

/// A pseudo-terminal of a given width. Its output is read into memory.
final class PseudoTerminal: Sendable {
    struct Failure: Error {}

    /// Linux's TIOCSPTLCK and TIOCGPTN, which Swift cannot import from glibc because they are macros.
    private static let (setLock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

    private let controller: Int32
    /// The end that a process receives as its terminal.
    let terminal: FileHandle
    private let shown = Mutex<[UInt8]>([])

    init(columns: UInt16) throws {
        controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (lock, number) = (Int32(0), UInt32(0))
        guard controller >= 0, ioctl(controller, Self.setLock, &lock) == 0,
            ioctl(controller, Self.getNumber, &number) == 0
        else { throw Failure() }
        let descriptor = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure() }
        terminal = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try resize(columns: columns)
    }

    deinit { close(controller) }

    func resize(columns: UInt16) throws {
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        guard ioctl(controller, UInt(TIOCSWINSZ), &size) == 0 else { throw Failure() }
    }

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
    var progress: [String] { text.split(separator: "\r\u{1B}[2K").map { String($0.prefix { !$0.isNewline }) } }
}
