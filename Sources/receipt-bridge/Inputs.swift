import ArgumentParser
import Foundation

/// The receipts of a command line: files, `-` or nothing for standard input.
struct Inputs: ParsableArguments {
    @Argument(help: "Files that hold one receipt each; - or nothing for standard input.")
    var files: [String] = []

    struct Input {
        let name: String
        /// Nil where the file cannot be read.
        let bytes: [UInt8]?
    }

    /// Bytes of one file at most; a receipt is far smaller.
    private static let maximumSize = 64 << 20

    /// Reads one file at a time, in order.
    var all: some Sequence<Input> {
        (files.isEmpty ? ["-"] : files).lazy.map { name in
            let data =
                name == "-"
                ? try? FileHandle.standardInput.read(upToCount: Self.maximumSize) ?? Data()
                : Self.read(name)
            return Input(name: name, bytes: data.map { [UInt8]($0) })
        }
    }

    private static func read(_ name: String) -> Data? {
        guard let handle = FileHandle(forReadingAtPath: name) else { return nil }
        defer { try? handle.close() }
        return try? handle.read(upToCount: maximumSize) ?? Data()
    }
}
