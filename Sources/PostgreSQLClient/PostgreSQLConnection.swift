import Foundation

/// One connection, used by one thread. Its calls block that thread until the response or the deadline.
final class PostgreSQLConnection {
    private let libpq: Libpq
    private let handle: Libpq.Connection
    private let usesPreparedStatements: Bool
    /// The names of prepared statements by text and types.
    private var statements: [Statement: String] = [:]
    /// `true` after an error that makes the connection unusable.
    private(set) var isBroken = false
    let serverVersion: Int

    private struct Statement: Hashable {
        let sql: String
        let types: [UInt32]
    }

    /// Maximum number of prepared statements. Further ones are sent with their text each time.
    private static let maximumStatements = 500
    /// Seconds until an attempt to connect to one host fails.
    private static let connectTimeout = "5"

    /// Connects. Blocks for as long as name resolution and the server take.
    init(_ configuration: PostgreSQLConfiguration, _ libpq: Libpq) throws(PostgreSQLError) {
        self.libpq = libpq
        usesPreparedStatements = configuration.preparedStatements
        var password: String?
        if let read = configuration.password {
            do { password = try read() } catch {
                throw PostgreSQLError(.notPermitted, "the password cannot be read: \(error)")
            }
        }
        let limit = Self.milliseconds(configuration.statementTimeout)
        // Every parameter is set, so that libpq reads no environment variable, password file or service file.
        var parameters: [(String, String)] = [
            ("connect_timeout", Self.connectTimeout), ("client_encoding", "UTF8"), ("passfile", "/nonexistent"),
            ("service", ""), ("application_name", configuration.applicationName), ("keepalives_idle", "30"),
            ("tcp_user_timeout", String(limit)), ("gssencmode", "disable"),
        ]
        parameters += configuration.parameters
        parameters.append(("password", password ?? ""))
        let keywords = parameters.map { UnsafePointer(strdup($0.0)) } + [nil]
        let values = parameters.map { UnsafePointer(strdup($0.1)) } + [nil]
        defer { for text in keywords + values { free(UnsafeMutablePointer(mutating: text)) } }
        guard let handle = libpq.connect(keywords, values, 0) else { throw PostgreSQLError(.failed, "out of memory") }
        guard libpq.status(handle) == Libpq.connectionOK else {
            let message = Self.text(libpq.errorMessage(handle))
            libpq.finish(handle)
            throw Self.connectionError(message, password: password)
        }
        self.handle = handle
        // Otherwise libpq prints the server's notices to standard error.
        _ = libpq.setNoticeProcessor(handle, { _, _ in }, nil)
        serverVersion = Int(libpq.serverVersion(handle))
        guard libpq.setNonblocking(handle, 1) == 0, libpq.enterPipelineMode(handle) == 1 else {
            isBroken = true
            throw PostgreSQLError(.notConnected, "the connection cannot be prepared")
        }
        try setLimits(limit)
    }

    deinit { libpq.finish(handle) }

    /// Sets limits on the server, so that it does not hold locks for a client that has gone away. A pooler in
    /// transaction mode may give the settings to another client, which only gets stricter limits.
    private func setLimits(_ milliseconds: Int64) throws(PostgreSQLError) {
        let settings = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
        _ = try run(
            settings.map { PostgreSQLQuery("SET \($0) = \(milliseconds)") },
            until: .now + .milliseconds(max(milliseconds, 1_000)))
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        let parts = duration.components
        return max(1, parts.seconds.multipliedReportingOverflow(by: 1_000).partialValue)
            + parts.attoseconds / 1_000_000_000_000_000
    }

    /// The error of a failed attempt. libpq gives only a text, in the language of the environment.
    private static func connectionError(_ message: String, password: String?) -> PostgreSQLError {
        var reason = message.split(whereSeparator: \.isNewline).joined(separator: "; ")
        if let password, !password.isEmpty { reason = reason.replacing(password, with: "***") }
        let refusals = ["password authentication failed", "no pg_hba.conf entry", "no password supplied", "role \""]
        if refusals.contains(where: message.contains) { return PostgreSQLError(.notPermitted, reason) }
        if message.contains("database \"") { return PostgreSQLError(.missing, reason) }
        if message.contains("too many clients") || message.contains("remaining connection slots") {
            return PostgreSQLError(.tooManyConnections, reason)
        }
        return PostgreSQLError(.notConnected, reason)
    }

    // MARK: - Batches

    /// Runs the queries as one implicit transaction and returns their results, or throws the first error. Nothing is
    /// committed if one of them fails.
    func run(
        _ queries: [PostgreSQLQuery], until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) -> [PostgreSQLResult] {
        // Encoded before anything is sent, since a batch cannot be taken back.
        var arguments: [EncodedArguments] = []
        for query in queries { arguments.append(try EncodedArguments(query.arguments)) }
        var prepared: [Statement?] = []
        for (query, arguments) in zip(queries, arguments) { prepared.append(try send(query.sql, arguments)) }
        guard libpq.pipelineSync(handle) == 1 else { throw lost() }
        var results: [PostgreSQLResult] = []
        var failure: PostgreSQLError?
        for statement in prepared {
            if let statement {
                let outcome = try read(until: deadline)
                if case .rows = outcome {} else { statements[statement] = nil }
                if case .failed(let error) = outcome { failure = failure ?? error }
            }
            switch try read(until: deadline) {
            case .rows(let result): results.append(result)
            case .failed(let error): failure = failure ?? error
            case .aborted: break
            }
        }
        // The commit of the implicit transaction can fail, too. Then an error comes before the synchronization.
        while true {
            guard let result = try nextResult(until: deadline) else { continue }
            defer { libpq.clear(result) }
            let status = libpq.resultStatus(result)
            if status == Libpq.pipelineSync { break }
            if case .failed(let error) = outcome(of: result, status) { failure = failure ?? error }
        }
        if let failure {
            if failure.code == .readOnly || failure.code == .notConnected { isBroken = true }
            throw failure
        }
        return results
    }

    /// Returns whether an idle connection was closed by the server.
    func isClosed() -> Bool {
        if isBroken { return true }
        var descriptor = pollfd(fd: libpq.socket(handle), events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) != 0 else { return false }
        guard libpq.consumeInput(handle) == 1, libpq.status(handle) == Libpq.connectionOK else {
            isBroken = true
            return true
        }
        return false
    }

    private enum Outcome {
        case rows(PostgreSQLResult)
        case failed(PostgreSQLError)
        /// An earlier statement of the batch failed.
        case aborted
    }

    /// Sends a statement. Returns its key if it is being prepared, too, so that there is one more result.
    private func send(_ sql: String, _ arguments: EncodedArguments) throws(PostgreSQLError) -> Statement? {
        let statement = Statement(sql: sql, types: arguments.types)
        var name = statements[statement]
        let prepares = name == nil && usesPreparedStatements && statements.count < Self.maximumStatements
        if prepares {
            let new = "s\(statements.count)"
            guard
                libpq.sendPrepare(handle, new, sql, CInt(arguments.types.count), arguments.types) == 1
            else { throw lost() }
            statements[statement] = new
            name = new
        }
        let count = CInt(arguments.types.count)
        let isSent = arguments.withPointers { values, lengths, formats in
            if let name { return libpq.sendPrepared(handle, name, count, values, lengths, formats, 1) }
            return libpq.sendQuery(handle, sql, count, arguments.types, values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw lost() }
        return prepares ? statement : nil
    }

    /// Reads the result of one statement and the end of its results.
    private func read(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) -> Outcome {
        var first: Outcome?
        while let result = try nextResult(until: deadline) {
            defer { libpq.clear(result) }
            let outcome = outcome(of: result, libpq.resultStatus(result))
            first = first ?? outcome
        }
        guard let first else { throw lost() }
        return first
    }

    private func outcome(of result: Libpq.Result, _ status: CInt) -> Outcome {
        switch status {
        case Libpq.commandOK, Libpq.tuplesOK: .rows(rows(of: result))
        case Libpq.pipelineAborted: .aborted
        default: .failed(error(of: result))
        }
    }

    private func rows(of result: Libpq.Result) -> PostgreSQLResult {
        let (rowCount, columnCount) = (libpq.rowCount(result), libpq.columnCount(result))
        let affected = Int(Self.text(libpq.affectedRows(result))) ?? 0
        var rows: [PostgreSQLRow] = []
        rows.reserveCapacity(Int(rowCount))
        for row in 0..<rowCount {
            rows.append(
                PostgreSQLRow(
                    columns: (0..<columnCount).map { column in
                        guard libpq.isNull(result, row, column) == 0, let value = libpq.value(result, row, column)
                        else { return nil }
                        return Array(UnsafeBufferPointer(start: value, count: Int(libpq.length(result, row, column))))
                    }))
        }
        return PostgreSQLResult(rows: rows, affectedRows: affected)
    }

    /// The error of a statement. Messages about values may contain them, so they are replaced.
    private func error(of result: Libpq.Result) -> PostgreSQLError {
        let sqlState = Self.text(libpq.resultErrorField(result, Libpq.sqlStateField))
        guard !sqlState.isEmpty else { return lost() }
        let message =
            sqlState.hasPrefix("22")
            ? "the server refused a value (\(sqlState))"
            : Self.text(libpq.resultErrorField(result, Libpq.messageField))
        return PostgreSQLError(sqlState: sqlState, message: message)
    }

    /// Waits for the next result; `nil` at the end of the results of a statement.
    private func nextResult(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) -> Libpq.Result? {
        while true {
            let unsent = libpq.flush(handle)
            guard unsent >= 0 else { throw lost() }
            if libpq.isBusy(handle) == 0 { return libpq.getResult(handle) }
            try wait(until: deadline, forWriting: unsent == 1)
            guard libpq.consumeInput(handle) == 1 else { throw lost() }
        }
    }

    /// Waits until the server has sent something, or takes more.
    private func wait(until deadline: ContinuousClock.Instant, forWriting: Bool) throws(PostgreSQLError) {
        let events = Int16(POLLIN) | (forWriting ? Int16(POLLOUT) : 0)
        while true {
            let rest = deadline - .now
            guard rest > .zero else {
                isBroken = true
                throw PostgreSQLError(.outcomeUnknown, "the server did not respond in time")
            }
            var descriptor = pollfd(fd: libpq.socket(handle), events: events, revents: 0)
            let milliseconds = min(Self.milliseconds(rest), 60_000)
            let ready = poll(&descriptor, 1, CInt(milliseconds))
            if ready > 0 { return }
            if ready < 0 && errno != EINTR { throw lost() }
        }
    }

    /// The error of a lost connection.
    private func lost() -> PostgreSQLError {
        isBroken = true
        return PostgreSQLError(.outcomeUnknown, "the connection to the server was lost")
    }

    // MARK: - COPY

    /// Sends rows by `COPY … FROM STDIN (FORMAT binary)`, in a transaction of its own. Returns their number.
    func copyIn(
        _ sql: String, _ rows: [[PostgreSQLValue]], until deadline: ContinuousClock.Instant
    ) throws(PostgreSQLError) -> Int {
        var data = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)
        for row in rows {
            BinaryFormat.append(Int16(truncatingIfNeeded: row.count), to: &data)
            for value in row {
                if case .null = value {
                    BinaryFormat.append(Int32(-1), to: &data)
                    continue
                }
                let start = data.count
                BinaryFormat.append(Int32(0), to: &data)
                try BinaryFormat.append(value, to: &data)
                let size = Int32(truncatingIfNeeded: data.count - start - 4).bigEndian
                withUnsafeBytes(of: size) { data.replaceSubrange(start..<start + 4, with: $0) }
            }
        }
        BinaryFormat.append(Int16(-1), to: &data)
        // COPY is not possible in pipeline mode.
        guard libpq.exitPipelineMode(handle) == 1 else { throw lost() }
        guard libpq.sendQuery(handle, sql, 0, nil, nil, nil, nil, 1) == 1,
            let answer = try nextResult(until: deadline)
        else { throw lost() }
        let status = libpq.resultStatus(answer)
        if status != Libpq.copyIn {
            let failure = error(of: answer)
            libpq.clear(answer)
            while let rest = try nextResult(until: deadline) { libpq.clear(rest) }
            guard libpq.enterPipelineMode(handle) == 1 else { throw lost() }
            throw failure
        }
        libpq.clear(answer)
        try put(data, until: deadline)
        let failure = try endOfCopy(until: deadline)
        guard libpq.enterPipelineMode(handle) == 1 else { throw lost() }
        if let failure { throw failure }
        return rows.count
    }

    /// Sends the data of a COPY in pieces, and waits while the server does not take more.
    private func put(_ data: [UInt8], until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
        var position = 0
        while position < data.count {
            let piece = min(65_536, data.count - position)
            let state = data.withUnsafeBytes { bytes in
                bytes.baseAddress.map {
                    libpq.putCopyData(
                        handle, ($0 + position).assumingMemoryBound(to: CChar.self), CInt(piece))
                } ?? -1
            }
            guard state >= 0 else { throw lost() }
            if state == 1 { position += piece }
            if libpq.flush(handle) == 1 {
                try wait(until: deadline, forWriting: true)
                guard libpq.consumeInput(handle) == 1 else { throw lost() }
            }
        }
        while true {
            let state = libpq.putCopyEnd(handle, nil)
            guard state >= 0 else { throw lost() }
            if state == 1 { return }
            try wait(until: deadline, forWriting: true)
        }
    }

    /// Reads the results after the data. Returns the error of the command.
    private func endOfCopy(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) -> PostgreSQLError? {
        var failure: PostgreSQLError?
        while let result = try nextResult(until: deadline) {
            defer { libpq.clear(result) }
            if libpq.resultStatus(result) != Libpq.commandOK { failure = failure ?? error(of: result) }
        }
        return failure
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String {
        pointer.map { String(cString: $0) } ?? ""
    }
}

/// Arguments in binary format, in one buffer.
private struct EncodedArguments {
    let types: [UInt32]
    private var bytes: [UInt8] = []
    /// Where each argument begins; `nil` for null.
    private var offsets: [Int?] = []
    private var lengths: [CInt] = []

    init(_ values: [PostgreSQLValue]) throws(PostgreSQLError) {
        types = values.map(BinaryFormat.type)
        for value in values {
            let start = bytes.count
            if case .null = value { offsets.append(nil) } else { offsets.append(start) }
            try BinaryFormat.append(value, to: &bytes)
            guard let length = CInt(exactly: bytes.count - start) else {
                throw PostgreSQLError(.invalid, "an argument has more than 2 GB")
            }
            lengths.append(length)
        }
        // An empty buffer has no address.
        bytes.append(0)
    }

    func withPointers<Result>(
        _ body: ([Libpq.Text?], [CInt], [CInt]) -> Result
    ) -> Result {
        bytes.withUnsafeBytes { buffer in
            let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
            let values = offsets.map { offset in offset.flatMap { start in base.map { $0 + start } } }
            return body(values, lengths, [CInt](repeating: 1, count: values.count))
        }
    }
}
