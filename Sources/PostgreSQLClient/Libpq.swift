import Foundation

/// The functions of libpq that the client calls, loaded from the shared library when they are first needed. So only
/// those who use PostgreSQL need the library.
struct Libpq: Sendable {
    typealias Connection = OpaquePointer
    typealias Result = OpaquePointer
    typealias Text = UnsafePointer<CChar>
    typealias Texts = UnsafePointer<Text?>
    typealias Integers = UnsafePointer<CInt>
    typealias Types = UnsafePointer<CUnsignedInt>
    typealias NoticeProcessor = @convention(c) (UnsafeMutableRawPointer?, Text?) -> Void

    let connect: @convention(c) (Texts, Texts, CInt) -> Connection?
    let finish: @convention(c) (Connection?) -> Void
    let status: @convention(c) (Connection?) -> CInt
    let errorMessage: @convention(c) (Connection?) -> Text?
    let parameterStatus: @convention(c) (Connection?, Text) -> Text?
    let serverVersion: @convention(c) (Connection?) -> CInt
    let socket: @convention(c) (Connection?) -> CInt
    let setNoticeProcessor:
        @convention(c) (Connection?, NoticeProcessor?, UnsafeMutableRawPointer?) -> UnsafeRawPointer?
    let setNonblocking: @convention(c) (Connection?, CInt) -> CInt
    let flush: @convention(c) (Connection?) -> CInt
    let consumeInput: @convention(c) (Connection?) -> CInt
    let isBusy: @convention(c) (Connection?) -> CInt
    let getResult: @convention(c) (Connection?) -> Result?
    let enterPipelineMode: @convention(c) (Connection?) -> CInt
    let exitPipelineMode: @convention(c) (Connection?) -> CInt
    let pipelineSync: @convention(c) (Connection?) -> CInt
    let sendPrepare: @convention(c) (Connection?, Text, Text, CInt, Types?) -> CInt
    let sendPrepared: @convention(c) (Connection?, Text, CInt, Texts?, Integers?, Integers?, CInt) -> CInt
    let sendQuery: @convention(c) (Connection?, Text, CInt, Types?, Texts?, Integers?, Integers?, CInt) -> CInt
    let putCopyData: @convention(c) (Connection?, Text, CInt) -> CInt
    let putCopyEnd: @convention(c) (Connection?, Text?) -> CInt
    let resultStatus: @convention(c) (Result?) -> CInt
    let resultErrorField: @convention(c) (Result?, CInt) -> Text?
    let rowCount: @convention(c) (Result?) -> CInt
    let columnCount: @convention(c) (Result?) -> CInt
    let columnType: @convention(c) (Result?, CInt) -> CUnsignedInt
    let isNull: @convention(c) (Result?, CInt, CInt) -> CInt
    let length: @convention(c) (Result?, CInt, CInt) -> CInt
    let value: @convention(c) (Result?, CInt, CInt) -> UnsafePointer<UInt8>?
    let affectedRows: @convention(c) (Result?) -> Text?
    let clear: @convention(c) (Result?) -> Void
    /// For example 150018 for version 15.18.
    let version: Int

    /// The first version with pipelines.
    static let oldestVersion = 140_000

    /// Loads the library. It stays loaded until the process ends.
    ///
    /// - Parameter name: a file name that the dynamic linker searches, or a path.
    /// - Throws: `libraryMissing` or `libraryTooOld`.
    init(_ name: String) throws(PostgreSQLError) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
            let reason = dlerror().map { String(cString: $0) } ?? name
            throw PostgreSQLError(
                .libraryMissing,
                "PostgreSQL needs libpq 14 or newer, which cannot be loaded (\(reason)). On Debian: apt-get install libpq5"
            )
        }
        func symbol<Function>(_ symbol: String, as type: Function.Type) throws(PostgreSQLError) -> Function {
            guard let address = dlsym(handle, symbol) else {
                throw PostgreSQLError(
                    .libraryTooOld,
                    "\(name) has no \(symbol): libpq 14 or newer is needed. On Debian 12: apt-get install libpq5")
            }
            return unsafeBitCast(address, to: type)
        }
        version = Int(try symbol("PQlibVersion", as: (@convention(c) () -> CInt).self)())
        guard version >= Self.oldestVersion else {
            throw PostgreSQLError(
                .libraryTooOld,
                "\(name) is version \(version / 10_000): libpq 14 or newer is needed. On Debian 12: apt-get install libpq5"
            )
        }
        connect = try symbol("PQconnectdbParams", as: (@convention(c) (Texts, Texts, CInt) -> Connection?).self)
        finish = try symbol("PQfinish", as: (@convention(c) (Connection?) -> Void).self)
        status = try symbol("PQstatus", as: (@convention(c) (Connection?) -> CInt).self)
        errorMessage = try symbol("PQerrorMessage", as: (@convention(c) (Connection?) -> Text?).self)
        parameterStatus = try symbol(
            "PQparameterStatus", as: (@convention(c) (Connection?, Text) -> Text?).self)
        serverVersion = try symbol("PQserverVersion", as: (@convention(c) (Connection?) -> CInt).self)
        socket = try symbol("PQsocket", as: (@convention(c) (Connection?) -> CInt).self)
        setNoticeProcessor = try symbol(
            "PQsetNoticeProcessor",
            as: (@convention(c) (Connection?, NoticeProcessor?, UnsafeMutableRawPointer?) -> UnsafeRawPointer?).self)
        setNonblocking = try symbol("PQsetnonblocking", as: (@convention(c) (Connection?, CInt) -> CInt).self)
        flush = try symbol("PQflush", as: (@convention(c) (Connection?) -> CInt).self)
        consumeInput = try symbol("PQconsumeInput", as: (@convention(c) (Connection?) -> CInt).self)
        isBusy = try symbol("PQisBusy", as: (@convention(c) (Connection?) -> CInt).self)
        getResult = try symbol("PQgetResult", as: (@convention(c) (Connection?) -> Result?).self)
        enterPipelineMode = try symbol("PQenterPipelineMode", as: (@convention(c) (Connection?) -> CInt).self)
        exitPipelineMode = try symbol("PQexitPipelineMode", as: (@convention(c) (Connection?) -> CInt).self)
        pipelineSync = try symbol("PQpipelineSync", as: (@convention(c) (Connection?) -> CInt).self)
        sendPrepare = try symbol(
            "PQsendPrepare", as: (@convention(c) (Connection?, Text, Text, CInt, Types?) -> CInt).self)
        sendPrepared = try symbol(
            "PQsendQueryPrepared",
            as: (@convention(c) (Connection?, Text, CInt, Texts?, Integers?, Integers?, CInt) -> CInt).self)
        sendQuery = try symbol(
            "PQsendQueryParams",
            as: (@convention(c) (Connection?, Text, CInt, Types?, Texts?, Integers?, Integers?, CInt) -> CInt).self)
        putCopyData = try symbol("PQputCopyData", as: (@convention(c) (Connection?, Text, CInt) -> CInt).self)
        putCopyEnd = try symbol("PQputCopyEnd", as: (@convention(c) (Connection?, Text?) -> CInt).self)
        resultStatus = try symbol("PQresultStatus", as: (@convention(c) (Result?) -> CInt).self)
        resultErrorField = try symbol("PQresultErrorField", as: (@convention(c) (Result?, CInt) -> Text?).self)
        rowCount = try symbol("PQntuples", as: (@convention(c) (Result?) -> CInt).self)
        columnCount = try symbol("PQnfields", as: (@convention(c) (Result?) -> CInt).self)
        columnType = try symbol("PQftype", as: (@convention(c) (Result?, CInt) -> CUnsignedInt).self)
        isNull = try symbol("PQgetisnull", as: (@convention(c) (Result?, CInt, CInt) -> CInt).self)
        length = try symbol("PQgetlength", as: (@convention(c) (Result?, CInt, CInt) -> CInt).self)
        value = try symbol("PQgetvalue", as: (@convention(c) (Result?, CInt, CInt) -> UnsafePointer<UInt8>?).self)
        affectedRows = try symbol("PQcmdTuples", as: (@convention(c) (Result?) -> Text?).self)
        clear = try symbol("PQclear", as: (@convention(c) (Result?) -> Void).self)
    }

    /// `ConnStatusType` and `ExecStatusType` of libpq-fe.h.
    static let connectionOK: CInt = 0
    static let commandOK: CInt = 1
    static let tuplesOK: CInt = 2
    static let copyIn: CInt = 4
    static let pipelineSync: CInt = 10
    static let pipelineAborted: CInt = 11
    /// The fields `C` (SQLSTATE) and `M` (primary message) of an error.
    static let sqlStateField: CInt = 67
    static let messageField: CInt = 77
}
