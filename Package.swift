// swift-tools-version: 6.2
import PackageDescription

// Settings of this package's targets. Dependencies have their own settings.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// The commit for `--version`, which the Makefile passes; empty outside git. It is hexadecimal, with `-dirty` if files were changed.
let commit =
    Context.environment["BUILD_COMMIT"].flatMap { name in
        name.count <= 80 && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } ? name : nil
    } ?? ""

/// The field tables that are embedded in the binary. `Mappings/` contains only these and its README.
let mappings = [
    "answer", "app-receipt", "flat-transaction", "in-app", "notifications", "renewal", "transaction",
    "transaction-receipt",
]

/// Packages that only other packages need, with a product of each. Their versions are exact too, so that every build of a commit
/// compiles the same sources (docs/decisions/0061-exact-versions-of-every-package.md).
let transitivePackages = [
    ("swift-server/async-http-client", "1.37.0", "AsyncHTTPClient"),
    ("apple/swift-algorithms", "1.2.1", "Algorithms"),
    ("apple/swift-asn1", "1.7.4", "SwiftASN1"),
    ("apple/swift-async-algorithms", "1.1.4", "AsyncAlgorithms"),
    ("apple/swift-atomics", "1.3.0", "Atomics"),
    ("apple/swift-certificates", "1.21.1", "X509"),
    ("apple/swift-configuration", "1.4.0", "Configuration"),
    ("apple/swift-crypto", "4.5.2", "Crypto"),
    ("apple/swift-distributed-tracing", "1.7.3", "Tracing"),
    ("apple/swift-http-structured-headers", "1.7.0", "StructuredFieldValues"),
    ("apple/swift-metrics", "2.13.0", "Metrics"),
    ("apple/swift-nio-http2", "1.46.0", "NIOHTTP2"),
    ("apple/swift-nio-transport-services", "1.28.0", "NIOTransportServices"),
    ("apple/swift-numerics", "1.1.1", "Numerics"),
    ("apple/swift-service-context", "1.5.1", "ServiceContextModule"),
    ("apple/swift-system", "1.8.1", "SystemPackage"),
]

let package = Package(
    name: "receipt-bridge",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "receipt-bridge", targets: ["receipt-bridge"])],
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
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
        // Only this target is compiled again if the commit changes.
        .target(name: "CBuild", cSettings: [.define("BUILD_COMMIT", to: "\"\(commit)\"")]),
        // C libraries: module maps and typed wrappers for variadic calls, nothing else.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),

        // Base targets, which do not depend on the request path.
        .target(
            name: "AppStoreTypes",
            swiftSettings: strict),
        .target(
            name: "JSON",
            dependencies: ["AppStoreTypes"],
            swiftSettings: strict),
        .target(
            name: "FileSupport",
            swiftSettings: strict),
        .target(
            name: "ConcurrencySupport",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .target(
            name: "Telemetry",
            dependencies: [
                "AppStoreTypes",
                "JSON",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Cryptography",
            dependencies: [
                "AppStoreTypes",
                "COpenSSL",
                "ConcurrencySupport",
            ],
            resources: [
                .embedInCode("Roots/AppleIncRootCertificate.cer"),
                .embedInCode("Roots/AppleRootCAG2.cer"),
                .embedInCode("Roots/AppleRootCAG3.cer"),
                .embedInCode("Intermediates/AppleiTunesStoreCA2009.cer"),
                .embedInCode("Intermediates/WWDR2008.cer"),
                .embedInCode("Intermediates/WWDR2013.cer"),
                .embedInCode("Intermediates/WWDRG5.cer"),
                .embedInCode("Intermediates/WWDRG7.cer"),
                .embedInCode("Intermediates/WWDRG8.cer"),
            ],
            swiftSettings: strict),
        .target(
            name: "Transport",
            dependencies: [
                "CCurl",
                "ConcurrencySupport",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ],
            swiftSettings: strict),
        .target(
            name: "Storage",
            dependencies: [
                "AppStoreTypes",
                "Cryptography",
                "JSON",
                "Telemetry",
            ],
            swiftSettings: strict),
        .target(
            name: "SQLiteFiles",
            dependencies: [
                "Storage",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "SQLiteStorage",
            dependencies: [
                "AppStoreTypes",
                "SQLiteFiles",
                "Storage",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        // A client of PostgreSQL. It loads libpq when a store is opened, so that nothing else needs the library.
        .target(
            name: "PostgreSQLClient",
            dependencies: ["ConcurrencySupport"],
            swiftSettings: strict),
        .target(
            name: "PostgreSQLStorage",
            dependencies: [
                "AppStoreTypes",
                "Cryptography",
                "PostgreSQLClient",
                "Storage",
            ],
            swiftSettings: strict),
        // Steps of the request path, in order.
        .target(
            name: "ReceiptDecoding",
            dependencies: [
                "AppStoreTypes",
                "Cryptography",
                "JSON",
            ],
            swiftSettings: strict),
        .target(
            name: "AppStorePayloads",
            dependencies: [
                "AppStoreTypes",
                "ConcurrencySupport",
                "Cryptography",
                "JSON",
            ],
            swiftSettings: strict),
        .target(
            name: "AppStoreClients",
            dependencies: [
                "AppStorePayloads",
                "AppStoreTypes",
                "ConcurrencySupport",
                "Cryptography",
                "FileSupport",
                "JSON",
                "Telemetry",
                "Transport",
            ],
            swiftSettings: strict),
        .target(
            name: "Responses",
            dependencies: [
                "AppStorePayloads",
                "AppStoreTypes",
                "JSON",
                "ReceiptDecoding",
            ],
            resources: mappings.map { .embedInCode("../../Mappings/\($0).json") },
            swiftSettings: strict),
        // The request path, the entry points that use it, and the simulated App Store.
        .target(
            name: "Comparison",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "Cryptography",
                "JSON",
                "Responses",
            ],
            swiftSettings: strict),
        .target(
            name: "BridgeConfiguration",
            dependencies: [
                "AppStoreClients",
                "AppStoreTypes",
                "Cryptography",
                "FileSupport",
                "Responses",
                "Storage",
                "Transport",
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),
        .target(
            name: "VerifyReceipt",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BridgeConfiguration",
                "ConcurrencySupport",
                "Cryptography",
                "JSON",
                "ReceiptDecoding",
                "Responses",
                "Storage",
                "Telemetry",
                "Transport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .target(
            name: "Notifications",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BridgeConfiguration",
                "ConcurrencySupport",
                "Cryptography",
                "JSON",
                "Operations",
                "ReceiptDecoding",
                "Responses",
                "Storage",
                "Telemetry",
                "Transport",
                "VerifyReceipt",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "Operations",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "JSON",
                "Storage",
                "Telemetry",
                "Transport",
                "VerifyReceipt",
            ],
            swiftSettings: strict),
        .target(
            name: "Server",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BridgeConfiguration",
                "Comparison",
                "ConcurrencySupport",
                "Cryptography",
                "JSON",
                "Notifications",
                "Operations",
                "Reports",
                "Responses",
                "Storage",
                "Telemetry",
                "Transport",
                "VerifyReceipt",
                .product(name: "DequeModule", package: "swift-collections"),
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
            name: "BatchInput",
            dependencies: [
                "AppStoreTypes",
                "Cryptography",
                "FileSupport",
                "JSON",
                "SQLiteFiles",
                "Storage",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "Reports",
            dependencies: [
                "AppStorePayloads",
                "AppStoreTypes",
                "Comparison",
                "Cryptography",
                "FileSupport",
                "JSON",
                "ReceiptDecoding",
                "Responses",
                "Storage",
            ],
            swiftSettings: strict),
        .target(
            name: "Batch",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BatchInput",
                "Comparison",
                "Cryptography",
                "FileSupport",
                "JSON",
                "PostgreSQLClient",
                "ReceiptDecoding",
                "Reports",
                "Responses",
                "SQLiteFiles",
                "Storage",
                "VerifyReceipt",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .target(
            name: "Administration",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BatchInput",
                "BridgeConfiguration",
                "ConcurrencySupport",
                "Cryptography",
                "FileSupport",
                "JSON",
                "Notifications",
                "Operations",
                "PostgreSQLClient",
                "PostgreSQLStorage",
                "ReceiptDecoding",
                "Responses",
                "SQLiteFiles",
                "SQLiteStorage",
                "Server",
                "Storage",
                "Transport",
                "VerifyReceipt",
            ],
            swiftSettings: strict),
        .target(
            name: "Simulator",
            dependencies: [
                "AppStoreTypes",
                "Cryptography",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "receipt-bridge",
            dependencies: [
                "Administration",
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "Batch",
                "BatchInput",
                "BridgeConfiguration",
                "CBuild",
                "CMalloc",
                "Comparison",
                "ConcurrencySupport",
                "Cryptography",
                "FileSupport",
                "JSON",
                "Notifications",
                "Operations",
                "PostgreSQLClient",
                "ReceiptDecoding",
                "Reports",
                "Responses",
                "Server",
                "Simulator",
                "Storage",
                "Telemetry",
                "Transport",
                "VerifyReceipt",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        // Tests: one target per source target, and end-to-end tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "AppStoreClients",
                "AppStoreTypes",
                "BridgeConfiguration",
                "Cryptography",
                "ReceiptDecoding",
                "Simulator",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "AppStoreTypesTests",
            dependencies: ["AppStoreTypes"],
            swiftSettings: strict),
        .testTarget(
            name: "ConcurrencySupportTests",
            dependencies: [
                "ConcurrencySupport",
                "HTTPTestServer",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "TelemetryTests",
            dependencies: [
                "AppStoreTypes",
                "Telemetry",
                "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "JSONTests",
            dependencies: ["JSON"],
            swiftSettings: strict),
        .testTarget(
            name: "CryptographyTests",
            dependencies: [
                "AppStoreTypes",
                "COpenSSL",
                "Cryptography",
                "Simulator",
                "TestSupport",
            ],
            swiftSettings: strict),
        .target(
            name: "HTTPTestServer",
            path: "Tests/HTTPTestServer",
            swiftSettings: strict),
        .testTarget(
            name: "TransportTests",
            dependencies: [
                "HTTPTestServer",
                "TestSupport",
                "Transport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ReceiptDecodingTests",
            dependencies: [
                "AppStoreTypes",
                "COpenSSL",
                "Cryptography",
                "ReceiptDecoding",
                "Simulator",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AppStoreClientsTests",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "Cryptography",
                "HTTPTestServer",
                "JSON",
                "Simulator",
                "TestSupport",
                "Transport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ResponsesTests",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "JSON",
                "ReceiptDecoding",
                "Responses",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ComparisonTests",
            dependencies: [
                "AppStorePayloads",
                "AppStoreTypes",
                "Comparison",
                "Cryptography",
                "JSON",
                "Reports",
                "Simulator",
                "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "BatchTests",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "Batch",
                "BatchInput",
                "BridgeConfiguration",
                "Comparison",
                "Cryptography",
                "FileSupport",
                "Reports",
                "Responses",
                "SQLiteFiles",
                "Simulator",
                "Storage",
                "TestSupport",
                "Transport",
                "VerifyReceipt",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "BridgeConfigurationTests",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BridgeConfiguration",
                "Comparison",
                "Responses",
                "SQLiteStorage",
                "Server",
                "Simulator",
                "Storage",
                "TestSupport",
                "Transport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "VerifyReceiptTests",
            dependencies: [
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BridgeConfiguration",
                "Comparison",
                "Cryptography",
                "Notifications",
                "ReceiptDecoding",
                "Responses",
                "SQLiteStorage",
                "Server",
                "Simulator",
                "Storage",
                "Telemetry",
                "TestSupport",
                "Transport",
                "VerifyReceipt",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "Administration",
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "BridgeConfiguration",
                "Cryptography",
                "HTTPTestServer",
                "Notifications",
                "Operations",
                "Reports",
                "ReceiptDecoding",
                "Responses",
                "SQLiteStorage",
                "Server",
                "Simulator",
                "Storage",
                "Telemetry",
                "TestSupport",
                "Transport",
                "VerifyReceipt",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SimulatorTests",
            dependencies: [
                "AppStoreTypes",
                "Cryptography",
                "HTTPTestServer",
                "Simulator",
                "TestSupport",
            ],
            swiftSettings: strict),
        .target(
            name: "StorageTestSupport",
            dependencies: [
                "AppStoreTypes",
                "Cryptography",
                "Storage",
            ],
            path: "Tests/StorageTestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "Administration",
                "AppStoreTypes",
                "BridgeConfiguration",
                "Cryptography",
                "Notifications",
                "Operations",
                "PostgreSQLClient",
                "PostgreSQLStorage",
                "Responses",
                "SQLiteStorage",
                "Server",
                "Simulator",
                "Storage",
                "StorageTestSupport",
                "TestSupport",
                "Transport",
                "VerifyReceipt",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SQLiteStorageTests",
            dependencies: [
                "AppStoreTypes",
                "SQLiteFiles",
                "SQLiteStorage",
                "Simulator",
                "Storage",
                "StorageTestSupport",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PostgreSQLClientTests",
            dependencies: [
                "PostgreSQLClient"
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AdministrationTests",
            dependencies: [
                "Administration",
                "AppStoreClients",
                "AppStorePayloads",
                "AppStoreTypes",
                "Cryptography",
                "Notifications",
                "Operations",
                "Simulator",
                "Storage",
                "Transport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "receipt-bridge",
                "AppStoreTypes",
                "Cryptography",
                "HTTPTestServer",
                "PostgreSQLClient",
                "Responses",
                "Simulator",
                "TestSupport",
                "Transport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
    ]
)

// SwiftPM warns about a package that no target uses. A dependency for a platform that does not exist counts as a use and
// compiles nothing.
for (path, version, product) in transitivePackages {
    package.dependencies.append(.package(url: "https://github.com/\(path)", exact: Version(stringLiteral: version)))
    package.targets.first { $0.name == "receipt-bridge" }?.dependencies.append(
        .product(
            name: product, package: String(path.split(separator: "/")[1]),
            condition: .when(platforms: [.custom("none")])))
}

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
                "AppStoreTypes", "JSON", "Cryptography", "ReceiptDecoding", "AppStorePayloads", "AppStoreClients",
                "Responses", "Comparison", "VerifyReceipt", "Notifications", "BatchInput",
            ],
            path: "Tests/Fuzzing", exclude: ["Corpus", "seeds.py"],
            swiftSettings: strict + [
                .enableExperimentalFeature("Extern"), .unsafeFlags(instrumented + ["-parse-as-library"]),
            ],
            linkerSettings: [.unsafeFlags(instrumented + ["-use-ld=lld"])]))
}
