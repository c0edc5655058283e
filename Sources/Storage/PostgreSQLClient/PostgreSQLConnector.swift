import Foundation

/// An open connection on its way from the connector's thread to the event loop.
struct PostgreSQLOpenConnection: Sendable {
    let library: PostgreSQLLibrary
    // Only the thread that has received the value uses the pointer.
    nonisolated(unsafe) let handle: OpaquePointer
}

/// Opens connections on a thread of its own, because name resolution and the handshake block.
enum PostgreSQLConnector {
    /// Starts an attempt. The closure receives the outcome on another thread.
    static func start(
        _ configuration: PostgreSQLConfiguration,
        _ completion: @escaping @Sendable (Result<PostgreSQLOpenConnection, PostgreSQLError>) -> Void
    ) {
        PostgreSQLThread.start {
            do throws(PostgreSQLError) {
                completion(.success(try connect(configuration)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Connects. Blocks at most `connect_timeout` seconds for each address of each host.
    private static func connect(
        _ configuration: PostgreSQLConfiguration
    ) throws(PostgreSQLError) -> PostgreSQLOpenConnection {
        let library = try PostgreSQLLibrary(configuration.library)
        let password: String?
        do {
            password = try configuration.password?()
        } catch {
            throw PostgreSQLError(.notPermitted, "the password of the database cannot be read")
        }
        let text = try parameters(configuration, password, library)
        guard let handle = library.connectdb(text) else {
            throw PostgreSQLError(.notConnected, "there is not enough memory for a connection")
        }
        // By default libpq prints the server's notices to standard error.
        _ = library.setNoticeProcessor(handle, { _, _ in }, nil)
        guard library.status(handle) == PostgreSQLStatus.connectionOK else {
            let message = library.errorMessage(handle).map { String(cString: $0) } ?? ""
            library.finish(handle)
            throw PostgreSQLError(connectionMessage: message, password: password)
        }
        guard library.setnonblocking(handle, 1) == 0, library.enterPipelineMode(handle) == 1 else {
            library.finish(handle)
            throw PostgreSQLError(.failed, "the connection has no pipeline mode")
        }
        return PostgreSQLOpenConnection(library: library, handle: handle)
    }

    /// The settings of the server that limit the time of a statement, of waiting for a lock and of an idle transaction.
    static let timeoutNames = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]

    /// The values of these settings in milliseconds for a call's limit. The server cancels a statement a little earlier
    /// than the client gives up, because the client then has to close the connection.
    static func timeouts(_ limit: Duration) -> [Int] {
        let milliseconds = Int(min(max(limit / .milliseconds(1), 10), 2e9))
        return [milliseconds * 9 / 10, milliseconds * 8 / 10, milliseconds]
    }

    /// The connection parameters as one text. Each parameter that libpq would otherwise take from an environment
    /// variable is set, to libpq's default or to nothing.
    static func parameters(
        _ configuration: PostgreSQLConfiguration, _ password: String?, _ library: PostgreSQLLibrary
    ) throws(PostgreSQLError) -> String {
        var values = environmentDefaults(library)
        values.merge([
            "passfile": "/dev/null/none", "gssencmode": "disable", "connect_timeout": "5",
            "target_session_attrs": "read-write", "tcp_user_timeout": "10000", "keepalives_idle": "30",
        ]) { _, new in new }
        // Since libpq 16 and 18. They have no compiled default, and an empty one is invalid.
        for (keyword, value) in [
            ("sslcertmode", "allow"), ("min_protocol_version", "3.0"), ("max_protocol_version", "3.0"),
        ] where values[keyword] != nil {
            values[keyword] = value
        }
        for (keyword, value) in configuration.parameters {
            guard keyword != "password", keyword != "service", keyword != "passfile" else {
                throw PostgreSQLError(.invalid, "the connection parameter \(keyword) is not allowed")
            }
            values[keyword] = value
        }
        values["password"] = password ?? ""
        values["client_encoding"] = "UTF8"
        values["application_name"] = configuration.applicationName
        // A pooler in transaction mode rejects these options. Each transaction sets them instead.
        if configuration.preparedStatements {
            let settings = zip(timeoutNames, timeouts(configuration.statementTimeout)).map { "-c \($0)=\($1)" }
            values["options"] = ([values["options"] ?? ""] + settings).joined(separator: " ")
        }
        for (keyword, value) in values where value.utf8.contains(0) {
            throw PostgreSQLError(.invalid, "the connection parameter \(keyword) contains U+0000")
        }
        return values.sorted { $0.key < $1.key }.map { keyword, value in
            let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
            return "\(keyword)='\(escaped)'"
        }.joined(separator: " ")
    }

    /// The defaults, compiled into libpq, of the parameters that have an environment variable.
    private static func environmentDefaults(_ library: PostgreSQLLibrary) -> [String: String] {
        var defaults: [String: String] = [:]
        forEachOption(library) { keyword, variable, value in
            // An empty name of a service would be looked for in the service file.
            if variable != nil, keyword != "service" { defaults[keyword] = value ?? "" }
        }
        return defaults
    }

    /// Calls the closure with keyword, environment variable and compiled default of each `PQconninfoOption`.
    private static func forEachOption(_ library: PostgreSQLLibrary, _ body: (String, String?, String?) -> Void) {
        guard let options = library.conndefaults() else { return }
        defer { library.conninfoFree(options) }
        // Six pointers (keyword, envvar, compiled, val, label, dispchar) and an int, padded to a pointer's size.
        let words = 7
        var option = options.assumingMemoryBound(to: UnsafePointer<CChar>?.self)
        while let keyword = option[0] {
            body(String(cString: keyword), option[1].map { String(cString: $0) }, option[2].map { String(cString: $0) })
            option += words
        }
    }
}

/// A thread that runs one closure with all signals blocked, which the main program handles.
enum PostgreSQLThread {
    static func start(_ run: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            var signals = sigset_t()
            sigfillset(&signals)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            run()
        }
    }
}
