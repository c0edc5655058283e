// swift-tools-version: 6.2
import PackageDescription

// Settings of this package's targets. Dependencies have their own settings.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// The field tables that are embedded in the binary. `Mappings/` contains only these and its README.
let mappings = [
    "answer", "app-receipt", "flat-transaction", "in-app", "notifications", "renewal", "transaction",
    "transaction-receipt",
]

let package = Package(
    name: "receipt-bridge",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "receipt-bridge", targets: ["receipt-bridge"])],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    ],
    targets: [
        // C libraries: module maps and typed wrappers for variadic calls, nothing else.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        // Base targets, which do not depend on the request path.
        .target(name: "StoreTypes", swiftSettings: strict),
        .target(name: "JSONReading", swiftSettings: strict),
        .target(
            name: "ConcurrencySupport",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .target(name: "Telemetry", swiftSettings: strict),
        .target(
            name: "Cryptography", dependencies: ["COpenSSL", "ConcurrencySupport"],
            resources: [
                .embedInCode("Roots/AppleIncRootCertificate.cer"),
                .embedInCode("Roots/AppleRootCAG2.cer"),
                .embedInCode("Roots/AppleRootCAG3.cer"),
                .embedInCode("Intermediates/AppleiTunesStoreCA2009.cer"),
                .embedInCode("Intermediates/WWDR2008.cer"),
                .embedInCode("Intermediates/WWDR2013.cer"),
                .embedInCode("Intermediates/WWDRG5.cer"),
                .embedInCode("Intermediates/WWDRG7.cer"),
            ],
            swiftSettings: strict),
        .target(name: "Transport", dependencies: ["CCurl"], swiftSettings: strict),
        .target(
            name: "ListenerTLS",
            dependencies: [
                "Cryptography", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "Ledger",
            dependencies: [
                "StoreTypes", "Cryptography", "Telemetry", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),

        // Steps of the request path, in order.
        .target(
            name: "ReceiptDecoding", dependencies: ["StoreTypes", "JSONReading", "Cryptography"], swiftSettings: strict),
        .target(
            name: "AppStore",
            dependencies: [
                "StoreTypes", "JSONReading", "ConcurrencySupport", "Cryptography", "Telemetry", "Transport",
            ],
            swiftSettings: strict),
        .target(
            name: "Purchases", dependencies: ["StoreTypes", "JSONReading", "ReceiptDecoding", "AppStore"],
            swiftSettings: strict),
        .target(
            name: "Rendering", dependencies: ["StoreTypes", "JSONReading", "ReceiptDecoding", "AppStore", "Purchases"],
            resources: mappings.map { .embedInCode("../../Mappings/\($0).json") },
            swiftSettings: strict),

        // The request path, the entry points that use it, and the simulated App Store.
        .target(
            name: "Comparison",
            dependencies: ["StoreTypes", "JSONReading", "Cryptography", "AppStore", "Rendering", "Reports"],
            swiftSettings: strict),
        .target(
            name: "Pipeline",
            dependencies: [
                "StoreTypes", "JSONReading", "ConcurrencySupport", "Cryptography", "Transport", "ReceiptDecoding",
                "AppStore", "Purchases", "Rendering", "Ledger", "ListenerTLS", "Comparison", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),
        .target(
            name: "Server",
            dependencies: [
                "StoreTypes", "ConcurrencySupport", "AppStore", "Cryptography", "Pipeline", "Rendering", "Ledger",
                "ListenerTLS", "Comparison", "Forwarding", "Reports", "Shadowing", "Telemetry", "Transport",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("../../docs/openapi.json")],
            swiftSettings: strict),
        .target(
            name: "StoredRows", dependencies: ["Cryptography", "JSONReading", "Ledger"], swiftSettings: strict),
        .target(name: "Reports", dependencies: ["Cryptography", "StoredRows"], swiftSettings: strict),
        .target(
            name: "Migration",
            dependencies: [
                "StoreTypes", "Cryptography", "JSONReading", "AppStore", "ReceiptDecoding", "Rendering", "Ledger",
                "Pipeline", "StoredRows", "Reports",
            ],
            swiftSettings: strict),
        .target(
            name: "Operations",
            dependencies: [
                "StoreTypes", "JSONReading", "Transport", "AppStore", "Rendering", "Ledger", "Pipeline", "StoredRows",
            ],
            swiftSettings: strict),
        .target(
            name: "Shadowing",
            dependencies: [
                "StoreTypes", "Cryptography", "AppStore", "Rendering", "Ledger", "Pipeline", "Comparison", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "Forwarding",
            dependencies: [
                "StoreTypes", "ConcurrencySupport", "Cryptography", "AppStore", "Transport", "Rendering", "Ledger",
                "Pipeline", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "ComparisonRun",
            dependencies: [
                "StoreTypes", "Cryptography", "JSONReading", "AppStore", "ReceiptDecoding", "Transport", "Ledger",
                "Pipeline", "StoredRows", "Reports", "Comparison",
            ],
            swiftSettings: strict),
        .target(
            name: "Simulator",
            dependencies: [
                "StoreTypes", "Cryptography",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "Doctor",
            dependencies: [
                "StoreTypes", "ConcurrencySupport", "Cryptography", "Transport", "AppStore", "Rendering", "Ledger",
                "ListenerTLS", "Pipeline", "Server",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "receipt-bridge",
            dependencies: [
                "CMalloc", "StoreTypes", "ConcurrencySupport", "Cryptography", "Transport", "ReceiptDecoding",
                "AppStore",
                "Purchases", "Rendering", "Pipeline", "Ledger", "Migration", "Reports", "Server", "Simulator",
                "StoredRows", "Comparison", "ComparisonRun", "Doctor", "Forwarding", "Operations", "Shadowing",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),

        // Tests: one target per source target, and end-to-end tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "StoreTypes", "Cryptography", "ReceiptDecoding", "AppStore", "Pipeline", "Simulator",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport", swiftSettings: strict),
        .testTarget(name: "StoreTypesTests", dependencies: ["StoreTypes"], swiftSettings: strict),
        .testTarget(
            name: "ConcurrencySupportTests",
            dependencies: ["ConcurrencySupport", "HTTPTestServer", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "TelemetryTests", dependencies: ["Telemetry", "TestSupport"], swiftSettings: strict),
        .testTarget(name: "JSONReadingTests", dependencies: ["JSONReading"], swiftSettings: strict),
        .testTarget(
            name: "CryptographyTests",
            dependencies: ["COpenSSL", "Cryptography", "Simulator", "StoreTypes", "TestSupport"],
            swiftSettings: strict),
        .target(name: "HTTPTestServer", path: "Tests/HTTPTestServer", swiftSettings: strict),
        .testTarget(
            name: "TransportTests", dependencies: ["Transport", "HTTPTestServer", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ReceiptDecodingTests",
            dependencies: ["ReceiptDecoding", "Cryptography", "Simulator", "StoreTypes", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "AppStoreTests",
            dependencies: [
                "AppStore", "JSONReading", "Cryptography", "Transport", "StoreTypes", "Simulator", "HTTPTestServer",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RenderingTests",
            dependencies: ["Rendering", "AppStore", "Purchases", "ReceiptDecoding", "StoreTypes", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ComparisonTests",
            dependencies: [
                "Comparison", "AppStore", "Cryptography", "JSONReading", "Rendering", "Reports", "Simulator",
                "StoreTypes", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ComparisonRunTests",
            dependencies: [
                "ComparisonRun", "AppStore", "Comparison", "Cryptography", "Ledger", "Pipeline", "Rendering", "Reports",
                "Simulator",
                "StoredRows",
                "StoreTypes", "Transport", "TestSupport", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PipelineTests",
            dependencies: [
                "Pipeline", "AppStore", "Comparison", "Cryptography", "Forwarding", "Ledger", "ListenerTLS",
                "ReceiptDecoding", "Rendering", "Simulator", "StoreTypes", "Transport", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "Server", "AppStore", "Cryptography", "Doctor", "Forwarding", "HTTPTestServer", "Ledger", "ListenerTLS",
                "Pipeline", "Rendering", "Shadowing", "Simulator", "StoreTypes", "Telemetry", "Transport",
                "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SimulatorTests", dependencies: ["Simulator", "Cryptography", "HTTPTestServer", "StoreTypes"],
            swiftSettings: strict),
        .testTarget(
            name: "LedgerTests",
            dependencies: [
                "Ledger", "Simulator", "StoreTypes", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "MigrationTests",
            dependencies: [
                "Migration", "Cryptography", "Ledger", "Pipeline", "Reports", "Simulator", "StoreTypes", "StoredRows",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "OperationsTests",
            dependencies: [
                "Operations", "AppStore", "Cryptography", "Ledger", "Simulator", "StoreTypes", "Transport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "receipt-bridge", "HTTPTestServer", "Simulator", "StoreTypes", "TestSupport", "Transport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
    ]
)

// For `make fuzz` only: compiles this package's targets with libFuzzer's counters and AddressSanitizer, and adds the program that
// runs the fuzz targets. Testable imports are enabled, because some parsers are otherwise called only after a signature check.
if Context.environment["FUZZ"] == "1" {
    let instrumented = ["-sanitize=fuzzer,address"]
    for target in package.targets where target.type == .regular {
        target.swiftSettings = strict + [.unsafeFlags(instrumented + ["-enable-testing"])]
    }
    package.targets.append(
        .executableTarget(
            name: "receipt-bridge-fuzz",
            dependencies: [
                "StoreTypes", "JSONReading", "Cryptography", "ReceiptDecoding", "AppStore", "Purchases", "Rendering",
                "Comparison", "Pipeline", "StoredRows",
            ],
            path: "Tests/Fuzzing", exclude: ["Corpus", "seeds.py"],
            swiftSettings: strict + [
                .enableExperimentalFeature("Extern"), .unsafeFlags(instrumented + ["-parse-as-library"]),
            ],
            linkerSettings: [.unsafeFlags(instrumented + ["-use-ld=lld"])]))
}
