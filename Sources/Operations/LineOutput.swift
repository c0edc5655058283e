package import StoredRows

/// Where lines of results go: to a file that grows, or to whoever reads them now.
package struct LineOutput {
    private var file: OutputFile?
    private let write: ([UInt8]) -> Void

    package init(file: OutputFile) {
        self.file = file
        write = { _ in }
    }

    package init(_ write: @escaping ([UInt8]) -> Void) { self.write = write }

    /// - Parameter line: without its line break.
    package mutating func append(_ line: [UInt8]) throws(SinkError) {
        if file == nil { write(line + [0x0A]) } else { try file?.append(line + [0x0A]) }
    }

    /// Everything is on disk when this returns. How long the file is; nil for no file.
    package mutating func makeDurable() throws(SinkError) -> Int64? {
        try file?.makeDurable()
        return file?.size
    }
}
