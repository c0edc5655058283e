/// A connection in pipeline mode and the jobs that were sent over it. Only the event loop's thread uses it.
final class PostgreSQLConnection {
    private struct Running {
        let job: PostgreSQLJob
        var commands: [Command]
        var results: [PostgreSQLResult] = []
        var error: PostgreSQLError?
    }

    private enum Command {
        case prepare(name: String)
        case execute
    }

    private struct Prepared {
        let name: String
        /// The types of the parameters. 0 if the server has chosen it.
        let types: [UInt32]
    }

    let socket: CInt
    /// The transaction that the connection is reserved for.
    private(set) var transaction: UInt64?
    /// True if no further job may be sent, because the connection is to be closed.
    private(set) var isRetiring = false
    /// True if libpq has more to send than the socket takes.
    private(set) var hasUnsentData = false
    private(set) var failure: PostgreSQLError?

    private let library: PostgreSQLLibrary
    private let handle: OpaquePointer
    private let preparesStatements: Bool
    private var running: [Running] = []
    private var prepared: [String: [Prepared]] = [:]
    private var preparedCount = 0

    private static let maximumPrepared = 500

    init(_ connection: PostgreSQLOpenConnection, preparesStatements: Bool) {
        library = connection.library
        handle = connection.handle
        socket = library.socket(handle)
        self.preparesStatements = preparesStatements
    }

    deinit {
        library.finish(handle)
    }

    // MARK: State

    /// The number of jobs that were sent and have not ended.
    var load: Int { running.count }

    /// The earliest deadline of the jobs that were sent.
    var deadline: ContinuousClock.Instant? { running.lazy.map(\.job.deadline).min() }

    func accepts(_ place: PostgreSQLJob.Place, maximumLoad: Int) -> Bool {
        if isRetiring || failure != nil { return false }
        switch place {
        case .shared: return transaction == nil && running.count < maximumLoad
        case .firstOf: return transaction == nil && running.isEmpty
        case .partOf(let id), .commitOf(let id), .lastOf(let id): return transaction == id
        }
    }

    // MARK: Sending

    /// Sends a job. If that fails, `failure` is set.
    func send(_ job: PostgreSQLJob) {
        if case .firstOf(let id) = job.place { transaction = id }
        running.append(Running(job: job, commands: []))
        let isSent = job.statements.allSatisfy { send($0) } && library.pipelineSync(handle) == 1
        if isSent { flush() } else { fail() }
    }

    private func send(_ statement: PostgreSQLStatement) -> Bool {
        guard preparesStatements, let name = name(of: statement) else {
            running[running.count - 1].commands.append(.execute)
            return statement.withArguments { count, values, lengths, formats in
                library.sendQueryParams(handle, statement.sql, count, statement.types, values, lengths, formats, 1)
            } == 1
        }
        guard let name else { return false }
        running[running.count - 1].commands.append(.execute)
        return statement.withArguments { count, values, lengths, formats in
            library.sendQueryPrepared(handle, name, count, values, lengths, formats, 1)
        } == 1
    }

    /// The name of a prepared statement with the same text and types. Sends the preparation if it does not exist:
    /// `.some(nil)` if that fails. `nil` if there are too many.
    private func name(of statement: PostgreSQLStatement) -> String?? {
        let known = prepared[statement.sql]?.first { prepared in
            zip(prepared.types, statement.types).allSatisfy { $0 == $1 || $1 == 0 }
        }
        if let known { return known.name }
        if preparedCount >= Self.maximumPrepared { return nil }
        preparedCount += 1
        let name = "s\(preparedCount)"
        let count = CInt(statement.types.count)
        guard library.sendPrepare(handle, name, statement.sql, count, statement.types) == 1 else { return .some(nil) }
        prepared[statement.sql, default: []].append(Prepared(name: name, types: statement.types))
        running[running.count - 1].commands.append(.prepare(name: name))
        return name
    }

    func flush() {
        switch library.flush(handle) {
        case 0: hasUnsentData = false
        case 1: hasUnsentData = true
        default: fail()
        }
    }

    // MARK: Receiving

    /// Reads what has arrived. Returns the jobs that have ended, with their outcomes.
    func receive() -> [(PostgreSQLJob, PostgreSQLJob.Outcome)] {
        let isReadable = library.consumeInput(handle) == 1
        if hasUnsentData, isReadable { flush() }
        var ended: [(PostgreSQLJob, PostgreSQLJob.Outcome)] = []
        var emptyResults = 0
        while failure == nil, !running.isEmpty, library.isBusy(handle) == 0, emptyResults < 2 {
            guard let result = library.getResult(handle) else {
                emptyResults += 1
                if !running[0].commands.isEmpty { running[0].commands.removeFirst() }
                continue
            }
            defer { library.clear(result) }
            emptyResults = 0
            if take(result) { ended.append(endFirst()) }
        }
        if !isReadable || library.status(handle) != PostgreSQLStatus.connectionOK { fail() }
        if failure == nil, running.isEmpty, transaction == nil,
            PostgreSQLStatus.transactionOpen.contains(library.transactionStatus(handle))
        {
            isRetiring = true
        }
        return ended
    }

    /// Processes a result of the first job. Returns true if it is the job's last one.
    private func take(_ result: OpaquePointer) -> Bool {
        switch library.resultStatus(result) {
        case PostgreSQLStatus.pipelineSync: return true
        case PostgreSQLStatus.commandOK, PostgreSQLStatus.tuplesOK:
            if case .prepare? = running[0].commands.first { break }
            running[0].results.append(PostgreSQLResult(result, library))
        case PostgreSQLStatus.pipelineAborted:
            forget(running[0].commands.first)
        default:
            guard let sqlState = library.resultErrorField(result, 0x43).map({ String(cString: $0) }) else {
                fail()
                break
            }
            forget(running[0].commands.first)
            let message = library.resultErrorField(result, 0x4D).map { String(cString: $0) } ?? ""
            let constraint = library.resultErrorField(result, 0x6E).map { String(cString: $0) }
            let error = PostgreSQLError(sqlState: sqlState, message: message, constraint: constraint)
            if running[0].error == nil { running[0].error = error }
            // The statements are prepared again, because they are missing or no longer fit the tables.
            if sqlState == "26000" || sqlState == "0A000" { prepared = [:] }
            if error.code == .readOnly { isRetiring = true }
        }
        return false
    }

    private func endFirst() -> (PostgreSQLJob, PostgreSQLJob.Outcome) {
        let ended = running.removeFirst()
        switch ended.job.place {
        case .lastOf: transaction = nil
        case .commitOf where ended.error == nil: transaction = nil
        default: break
        }
        return (ended.job, ended.error.map { .failure($0) } ?? .success(ended.results))
    }

    /// Forgets a prepared statement whose preparation failed.
    private func forget(_ command: Command?) {
        guard case .prepare(let name)? = command else { return }
        for (sql, statements) in prepared where statements.contains(where: { $0.name == name }) {
            prepared[sql] = statements.filter { $0.name != name }
        }
    }

    private func fail() {
        let message = library.errorMessage(handle).map { String(cString: $0) } ?? ""
        failure = failure ?? PostgreSQLError(connectionMessage: message, password: nil)
    }

    /// Removes the jobs that have not ended, and returns them with their outcomes. The connection is to be closed.
    func abandon(at now: ContinuousClock.Instant) -> [(PostgreSQLJob, PostgreSQLJob.Outcome)] {
        defer { running = [] }
        return running.map { running in
            if let error = running.error, error.code != .outcomeUnknown { return (running.job, .failure(error)) }
            let reason =
                running.job.deadline <= now
                ? "the server did not answer in time"
                : "the connection was lost before the server confirmed the statements"
            let error = PostgreSQLError(.outcomeUnknown, sqlState: running.error?.sqlState, reason)
            return (running.job, .failure(error))
        }
    }
}

extension PostgreSQLResult {
    fileprivate init(_ result: OpaquePointer, _ library: PostgreSQLLibrary) {
        let rowCount = library.ntuples(result)
        let columnCount = library.nfields(result)
        var starts: [Int] = []
        var lengths: [Int?] = []
        var bytes: [UInt8] = []
        starts.reserveCapacity(Int(rowCount * columnCount))
        lengths.reserveCapacity(Int(rowCount * columnCount))
        for row in 0..<rowCount {
            for column in 0..<columnCount {
                starts.append(bytes.count)
                guard library.getisnull(result, row, column) == 0 else {
                    lengths.append(nil)
                    continue
                }
                let length = Int(library.getlength(result, row, column))
                lengths.append(length)
                bytes += UnsafeRawBufferPointer(start: library.getvalue(result, row, column), count: length)
            }
        }
        let types = (0..<columnCount).map { library.ftype(result, $0) }
        let table = PostgreSQLTable(types: types, starts: starts, lengths: lengths, bytes: bytes)
        rows = (0..<Int(rowCount)).map { PostgreSQLRow(table: table, index: $0) }
        let tag = library.cmdStatus(result).map { String(cString: $0) } ?? ""
        command = String(tag.prefix { $0 != " " })
    }
}
