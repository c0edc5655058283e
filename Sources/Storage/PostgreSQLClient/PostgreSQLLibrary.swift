import Foundation

/// The functions of libpq. The library is loaded when it is needed, so that the program runs without it if the store is
/// not PostgreSQL. Version 14 is the first with pipeline mode. The compiler does not check the types of functions that
/// are found by name: the tests of this target call them all. Every parameter is passed explicitly, so no environment
/// variable, password file or service file of libpq counts.
struct PostgreSQLLibrary: Sendable {
    typealias Handle = OpaquePointer?
    typealias Text = UnsafePointer<CChar>?
    typealias Number = @convention(c) (Handle) -> CInt
    typealias TextOf = @convention(c) (Handle) -> Text
    typealias Cell = @convention(c) (Handle, CInt, CInt) -> CInt

    let connectdb: @convention(c) (Text) -> Handle
    let conndefaults: @convention(c) () -> UnsafeMutableRawPointer?
    let conninfoFree: @convention(c) (UnsafeMutableRawPointer?) -> Void
    let finish: @convention(c) (Handle) -> Void
    let setNoticeProcessor:
        @convention(c) (
            Handle, (@convention(c) (UnsafeMutableRawPointer?, Text) -> Void)?, UnsafeMutableRawPointer?
        ) -> UnsafeRawPointer?
    let status: Number
    let transactionStatus: Number
    let socket: Number
    let errorMessage: TextOf
    let setnonblocking: @convention(c) (Handle, CInt) -> CInt
    let enterPipelineMode: Number
    let pipelineSync: Number
    let sendPrepare: @convention(c) (Handle, Text, Text, CInt, UnsafePointer<UInt32>?) -> CInt
    let sendQueryPrepared:
        @convention(c) (
            Handle, Text, CInt, UnsafePointer<Text>?, UnsafePointer<CInt>?, UnsafePointer<CInt>?, CInt
        ) -> CInt
    let sendQueryParams:
        @convention(c) (
            Handle, Text, CInt, UnsafePointer<UInt32>?, UnsafePointer<Text>?, UnsafePointer<CInt>?,
            UnsafePointer<CInt>?, CInt
        ) -> CInt
    let flush: Number
    let consumeInput: Number
    let isBusy: Number
    let getResult: @convention(c) (Handle) -> Handle
    let clear: @convention(c) (Handle) -> Void
    let resultStatus: Number
    let resultErrorField: @convention(c) (Handle, CInt) -> Text
    let ntuples: Number
    let nfields: Number
    let ftype: @convention(c) (Handle, CInt) -> UInt32
    let getisnull: Cell
    let getlength: Cell
    let getvalue: @convention(c) (Handle, CInt, CInt) -> Text
    let cmdStatus: TextOf

    /// Loads the library of a file name or path. Throws `libraryMissing` or `libraryTooOld`.
    init(_ name: String) throws(PostgreSQLError) {
        let library = try Symbols(name)
        connectdb = try library("PQconnectdb")
        conndefaults = try library("PQconndefaults")
        conninfoFree = try library("PQconninfoFree")
        finish = try library("PQfinish")
        setNoticeProcessor = try library("PQsetNoticeProcessor")
        status = try library("PQstatus")
        transactionStatus = try library("PQtransactionStatus")
        socket = try library("PQsocket")
        errorMessage = try library("PQerrorMessage")
        setnonblocking = try library("PQsetnonblocking")
        enterPipelineMode = try library("PQenterPipelineMode")
        pipelineSync = try library("PQpipelineSync")
        sendPrepare = try library("PQsendPrepare")
        sendQueryPrepared = try library("PQsendQueryPrepared")
        sendQueryParams = try library("PQsendQueryParams")
        flush = try library("PQflush")
        consumeInput = try library("PQconsumeInput")
        isBusy = try library("PQisBusy")
        getResult = try library("PQgetResult")
        clear = try library("PQclear")
        resultStatus = try library("PQresultStatus")
        resultErrorField = try library("PQresultErrorField")
        ntuples = try library("PQntuples")
        nfields = try library("PQnfields")
        ftype = try library("PQftype")
        getisnull = try library("PQgetisnull")
        getlength = try library("PQgetlength")
        getvalue = try library("PQgetvalue")
        cmdStatus = try library("PQcmdStatus")
    }

    /// The version of a library, for example 150018. Throws `libraryMissing` or `libraryTooOld`.
    static func version(of name: String) throws(PostgreSQLError) -> Int { try Symbols(name).version }
}

extension PostgreSQLLibrary {
    private struct Symbols {
        private let name: String
        private let handle: UnsafeMutableRawPointer
        let version: Int

        init(_ name: String) throws(PostgreSQLError) {
            guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else {
                let reason = dlerror().map { String(cString: $0) } ?? "it cannot be loaded"
                throw PostgreSQLError(.libraryMissing, "\(reason) (apt-get install libpq5)")
            }
            self.name = name
            self.handle = handle
            guard let symbol = dlsym(handle, "PQlibVersion") else {
                throw PostgreSQLError(.libraryMissing, "\(name) is not libpq")
            }
            version = Int(unsafeBitCast(symbol, to: (@convention(c) () -> CInt).self)())
            guard version >= 140_000 else {
                throw PostgreSQLError(
                    .libraryTooOld,
                    "\(name) is version \(version / 10_000), but 14 or newer is needed (apt-get install libpq5, Debian 12 or newer)"
                )
            }
        }

        /// The function of a name, as the C function type that the caller expects.
        func callAsFunction<Function>(_ function: String) throws(PostgreSQLError) -> Function {
            guard let symbol = dlsym(handle, function) else {
                throw PostgreSQLError(.libraryMissing, "\(name) has no function \(function)")
            }
            return unsafeBitCast(symbol, to: Function.self)
        }
    }
}

/// Values of libpq's enumerations `ConnStatusType`, `PGTransactionStatusType` and `ExecStatusType`.
enum PostgreSQLStatus {
    static let connectionOK: CInt = 0
    static let transactionOpen: ClosedRange<CInt> = 2...3
    static let commandOK: CInt = 1
    static let tuplesOK: CInt = 2
    static let pipelineSync: CInt = 10
    static let pipelineAborted: CInt = 11
}
