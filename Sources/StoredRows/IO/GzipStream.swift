import Foundation

/// What a compressed file holds, through `gzip -dc`: one process, a pipe, and as much memory as the pipe has.
///
/// The end is only then an end when `gzip` says so: a file cut off in the middle is an error, however much came out.
final class GzipStream: ByteStream {
    let name: String
    private let compressed: FileStream
    /// What `gzip` reads from, at the place where it reads.
    private let input: FileHandle
    private let process = Process()
    private let pipe = Pipe()
    private let output: FileDescriptor
    private var isFinished = false

    init(path: String) throws(SourceError) {
        name = path
        compressed = try FileStream(path: path)
        guard let input = FileHandle(forReadingAtPath: path) else {
            throw SourceError(.notReadable, at: path, "it cannot be opened")
        }
        self.input = input
        output = FileDescriptor(pipe.fileHandleForReading.fileDescriptor, isOwned: false)
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", "-dc"]
        // Secrets may stand in our own environment.
        process.environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"]
        process.standardInput = input
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            throw SourceError(.notReadable, at: path, "gzip cannot be started: \(error.localizedDescription)")
        }
    }

    deinit {
        guard !isFinished, process.isRunning else { return }
        // Not SIGTERM: a child is born with the signals blocked that the thread has blocked which starts it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SourceError) -> Int {
        let count: Int
        do throws(SystemFailure) { count = try output.read(into: buffer) } catch { throw SourceError(error, at: name) }
        if count == 0, !isFinished { try finish() }
        return count
    }

    /// Of the compressed file.
    var fraction: Double? { compressed.fraction(read: input.fileDescriptor) }

    private func finish() throws(SourceError) {
        process.waitUntilExit()
        isFinished = true
        switch (process.terminationReason, process.terminationStatus) {
        // 2 is a warning: zeros behind the last member, as tapes have them.
        case (.exit, 0), (.exit, 2): break
        case (.exit, 126), (.exit, 127): throw SourceError(.notReadable, at: name, "there is no command gzip")
        default: throw SourceError(.truncated, at: name, "the compressed data ends early or is damaged")
        }
    }

    /// Of the compressed file; one to which another compressed part was appended has grown.
    func identity(as kind: SourceIdentity.Kind) throws(SourceError) -> SourceIdentity {
        try compressed.identity(as: kind)
    }

    func comparison(with earlier: SourceIdentity, as kind: SourceIdentity.Kind) throws(SourceError) -> SourceComparison
    {
        try compressed.comparison(with: earlier, as: kind)
    }
}
