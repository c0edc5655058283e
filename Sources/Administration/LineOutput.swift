package import Base

/// The destination of result lines: a file that is appended to, or a stream such as standard output.
package struct LineOutput {
    private var file: OutputFile?
    private let write: ([UInt8]) -> Void

    /// Appends to a file.
    package init(file: OutputFile) {
        self.file = file
        write = { _ in }
    }

    /// Passes each line to `write`, for example to print it to standard output.
    package init(_ write: @escaping ([UInt8]) -> Void) { self.write = write }

    /// - Parameter line: The line without its line feed.
    package mutating func append(_ line: [UInt8]) throws(SinkError) {
        if file == nil { write(line + [0x0A]) } else { try file?.append(line + [0x0A]) }
    }

    /// Flushes everything to disk. Returns the length of the file in bytes; `nil` if the destination is a stream.
    package mutating func makeDurable() throws(SinkError) -> Int64? {
        try file?.makeDurable()
        return file?.size
    }
}
