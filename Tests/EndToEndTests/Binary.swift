import ReceiptBridgeBase
import Foundation
import ReceiptBridgeSimulator
import Synchronization
import Testing
import ReceiptBridgeTestSupport

/// The built command-line tool, run as people and scripts run it.
enum Binary {
    /// The tool is next to the test bundle, in the folder of this build.
    static let url: URL = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "receipt-bridge").standardizedFileURL

    struct Outcome: Sendable {
        let exit: Int32
        let output: [UInt8]
        let errors: String

        var text: String { String(decoding: output, as: UTF8.self) }
        /// The JSON documents on standard output, one per line.
        var lines: [JSONValue] { output.split(separator: 0x0A).compactMap { try? JSONValue(reading: Array($0)) } }
    }

    /// Runs a command to its end.
    ///
    /// - Parameters:
    ///   - exit: the expected exit code.
    ///   - message: a text that is expected on standard error.
    @discardableResult
    static func run(
        _ arguments: String..., input: [UInt8] = [], in folder: TemporaryFolder, environment: [String: String] = [:],
        exit: Int32? = nil, says message: String = "", at location: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let outcome = try await run(url, arguments, input: input, in: folder, environment: environment)
        return outcome.expecting(exit, message, at: location)
    }

    @discardableResult
    static func run(
        _ executable: URL, _ arguments: [String], input: [UInt8] = [], in folder: TemporaryFolder,
        environment: [String: String] = [:], within limit: Duration = Running.limit, exit: Int32? = nil,
        says message: String = "", at location: SourceLocation = #_sourceLocation
    ) async throws -> Outcome {
        let run = try Running(arguments, of: executable, input: input, in: folder, environment: environment)
        let code = await run.end(within: limit)
        return Outcome(exit: code, output: run.output, errors: run.errors).expecting(exit, message, at: location)
    }
}

extension Binary.Outcome {
    func expecting(_ exit: Int32?, _ message: String, at location: SourceLocation) -> Self {
        #expect(
            self.exit == exit ?? self.exit && (message.isEmpty || errors.contains(message)), "\(errors)\n\(text)",
            sourceLocation: location)
        return self
    }
}

/// A running process. Its standard output and error go to files.
final class Running: Sendable {
    private let process: Mutex<Process>
    private let ended: Task<Int32, Never>
    private let files: (output: URL, errors: URL)
    private let command: String

    /// - Parameter terminal: instead of a file for standard error.
    init(
        _ arguments: [String], of executable: URL = Binary.url, input: [UInt8] = [], in folder: TemporaryFolder,
        environment: [String: String] = [:], terminal: PseudoTerminal? = nil, showsResults: Bool = false,
        isTyped: Bool = false
    ) throws {
        func file(_ name: String, _ bytes: [UInt8] = []) throws -> URL {
            URL(filePath: try folder.write(".\(UUID().uuidString).\(name)", bytes))
        }
        files = (try file("out"), try file("err"))
        command = ([executable.lastPathComponent] + arguments.prefix(2)).joined(separator: " ")
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("RECEIPT_BRIDGE_") }
            .merging([TestSpeed.variable: "\(Self.speed)", "TERM": "xterm"]) { $1 }.merging(environment) { $1 }
        let handles = [
            try FileHandle(forReadingFrom: try file("in", input)), try FileHandle(forWritingTo: files.output),
            try FileHandle(forWritingTo: files.errors),
        ]
        // The process has its own copies. These must be closed, because a run of all tests starts more processes than
        // a shell's limit of 1,024 descriptors allows.
        defer { for handle in handles { try? handle.close() } }
        (process.standardInput, process.standardOutput) = (handles[0], handles[1])
        process.standardError = terminal?.terminal ?? handles[2]
        if showsResults { process.standardOutput = terminal?.terminal }
        if isTyped { process.standardInput = terminal?.terminal }
        let (exits, exit) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            exit.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            exit.finish()
        }
        try process.run()
        let identifier = process.processIdentifier
        TestProcess.started(identifier)
        self.process = Mutex(process)
        ended = Task {
            for await status in exits {
                TestProcess.ended(identifier)
                return status
            }
            return -1
        }
    }

    deinit { process.withLock { if $0.isRunning { Foundation.kill($0.processIdentifier, SIGKILL) } } }

    var output: [UInt8] { [UInt8]((try? Data(contentsOf: files.output)) ?? Data()) }
    var errors: String { (try? String(contentsOf: files.errors, encoding: .utf8)) ?? "" }
    var isRunning: Bool { process.withLock(\.isRunning) }
    var identifier: Int32 { process.withLock(\.processIdentifier) }

    static let limit = Duration.seconds(60)

    /// The divisor of the pauses of each process. A test that has to see the real ones sets the variable to 1.
    private static let speed = 50

    /// Waits for the process to end and returns its exit code, or the negative number of the signal that ended it.
    /// The process is killed if it still runs after the limit or after the test's own time limit.
    func end(within limit: Duration = limit) async -> Int32 {
        let watch = Task {
            try await Task.sleep(for: limit)
            Issue.record("\(command) has not ended after \(limit): \(errors.suffix(2_000))")
            kill()
        }
        defer { watch.cancel() }
        return await withTaskCancellationHandler {
            await ended.value
        } onCancel: {
            kill()
        }
    }

    func stop() { process.withLock { if $0.isRunning { $0.terminate() } } }

    func hangUp() { process.withLock { if $0.isRunning { Foundation.kill($0.processIdentifier, SIGHUP) } } }

    /// Sends SIGKILL, which a process cannot handle.
    func kill() { process.withLock { if $0.isRunning { Foundation.kill($0.processIdentifier, SIGKILL) } } }

    /// Sends SIGKILL as soon as the condition is true. Looks more often than a task could, because only milliseconds
    /// may remain until the process ends; on a thread of its own, because a blocked one of the pool could be one of
    /// two.
    func kill(when condition: @escaping @Sendable () -> Bool) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                while isRunning, !condition() { usleep(200) }
                kill()
                continuation.resume()
            }
        }
    }

    func kill(whenWritten path: String) async {
        await kill {
            var status = stat()
            return stat(path, &status) == 0 && status.st_size > 0
        }
    }

    /// Sends SIGTERM, as a service manager does, and expects that the process ends without an error.
    func finish() async {
        stop()
        let exit = await end()
        #expect(exit == 0, "\(errors)")
    }

    /// Matches a port at the end of a line or of a message in JSON.
    private static var address: Regex<(Substring, Substring)> { /https?:\/\/[^\s"]+:(\d+)["\n]/ }

    /// Waits for the address in the log and returns its port.
    func port() async throws -> Int {
        let isListening = await eventually(within: .seconds(30)) { errors.contains(Self.address) || !isRunning }
        let match = errors.firstMatch(of: Self.address)
        guard isListening, let match, let port = Int(match.1) else {
            throw RawConnection.Failure(description: "it never listened: \(errors)")
        }
        return port
    }
}

extension TemporaryFolder {
    /// A folder with the receipts and the configuration of a simulated App Store that does not run.
    static func simulated(customers: Int = 4) throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        try StateDirectory(folder.url.path).write(
            SharedSimulator.store(customers: customers), host: "127.0.0.1", port: 9)
        return folder
    }

    /// The receipts of customers with purchases.
    func boughtReceipts(_ name: String = "receipts.jsonl") throws -> [JSONValue] {
        try lines(name).filter { $0["originalTransactionIds"]?.elements?.isEmpty == false }
    }

    /// Writes this process's keys of the simulated App Store to a state directory, so that `simulate` does not make new
    /// ones, which takes a second.
    func writeSharedKeys(_ state: String) throws {
        try StateDirectory(path(state)).writeKeys(SharedSimulator.store(customers: 1))
    }

    func lines(_ name: String) throws -> [JSONValue] {
        try read(name).split(separator: 0x0A).map {
            try JSONValue(reading: [UInt8]($0))
        }
    }
}

extension JSONValue {
    /// The keys of an object's members, in order.
    var keys: [String] { if case .object(let members) = self { members.map(\.key) } else { [] } }
}

/// The resources that a process has used, from Linux's /proc.
struct Usage {
    /// CPU time in seconds, user and system.
    let seconds: Double
    /// Maximum resident memory in MB since the start.
    let megabytes: Int
    /// Current resident memory in KB.
    let residentKilobytes: Int

    init?(of process: Int32) {
        func text(_ name: String) -> String {
            (try? String(contentsOfFile: "/proc/\(process)/\(name)", encoding: .utf8)) ?? ""
        }
        let status = text("status")
        guard let fields = text("stat").split(separator: ")").last?.split(separator: " "), fields.count > 12,
            let user = Double(fields[11]), let system = Double(fields[12]),
            let peak = status.firstMatch(of: /VmHWM:\s+(\d+) kB/).flatMap({ Int($0.1) }),
            let resident = status.firstMatch(of: /VmRSS:\s+(\d+) kB/).flatMap({ Int($0.1) })
        else { return nil }
        seconds = (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
        megabytes = peak / 1_024
        residentKilobytes = resident
    }

    /// Whether the process runs with AddressSanitizer, which retains freed memory.
    static let isSanitized =
        ProcessInfo.processInfo.environment["ASAN_OPTIONS"] != nil || dlsym(nil, "__asan_init") != nil
}
