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
        .target(
            name: "AppStoreTypes",
            swiftSettings: strict),
        .target(
            name: "JSON",
            swiftSettings: strict),
        .target(
            name: "ConcurrencySupport",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: strict),
        .target(
            name: "Telemetry",
            swiftSettings: strict),
        .target(
            name: "Cryptography",
            dependencies: ["COpenSSL", "ConcurrencySupport"],
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
        .target(
            name: "Transport",
            dependencies: ["CCurl"],
            swiftSettings: strict),
        .target(
            name: "ListenerTLS",
            dependencies: [
                "Cryptography", .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: strict),
        .target(
            name: "Storage",
            dependencies: [
                "AppStoreTypes", "Cryptography", "Telemetry", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        // Steps of the request path, in order.
        .target(
            name: "ReceiptDecoding",
            dependencies: ["AppStoreTypes", "JSON", "Cryptography"],
            swiftSettings: strict),
        .target(
            name: "AppStorePayloads",
            dependencies: ["AppStoreTypes", "JSON", "ConcurrencySupport", "Cryptography"],
            swiftSettings: strict),
        .target(
            name: "AppStoreClients",
            dependencies: [
                "AppStorePayloads", "AppStoreTypes", "JSON", "ConcurrencySupport", "Cryptography", "Telemetry",
                "Transport",
            ],
            swiftSettings: strict),
        .target(
            name: "Responses",
            dependencies: ["AppStoreTypes", "JSON", "ReceiptDecoding", "AppStorePayloads", "AppStoreClients"],
            resources: mappings.map { .embedInCode("../../Mappings/\($0).json") },
            swiftSettings: strict),
        // The request path, the entry points that use it, and the simulated App Store.
        .target(
            name: "Comparison",
            dependencies: [
                "AppStoreTypes", "JSON", "Cryptography", "AppStorePayloads", "AppStoreClients", "Responses", "Reports",
            ],
            swiftSettings: strict),
        .target(
            name: "VerifyReceipt",
            dependencies: [
                "AppStoreTypes", "JSON", "ConcurrencySupport", "Cryptography", "Transport", "ReceiptDecoding",
                "AppStorePayloads", "AppStoreClients", "Responses", "Storage", "ListenerTLS", "Comparison", "Telemetry",
                .product(name: "Logging", package: "swift-log"), .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: strict),
        .target(
            name: "Server",
            dependencies: [
                "AppStoreTypes", "ConcurrencySupport", "AppStorePayloads", "AppStoreClients", "Cryptography",
                "VerifyReceipt", "Responses", "Storage", "ListenerTLS", "Comparison", "Notifications", "Reports",
                "Telemetry", "Transport", .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"), .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("../../docs/openapi.json")],
            swiftSettings: strict),
        .target(
            name: "BatchInput",
            dependencies: ["Cryptography", "JSON", "Storage"],
            swiftSettings: strict),
        .target(
            name: "Reports",
            dependencies: ["Cryptography", "BatchInput"],
            swiftSettings: strict),
        .target(
            name: "Batch",
            dependencies: [
                "AppStoreTypes", "Cryptography", "JSON", "AppStorePayloads", "AppStoreClients", "ReceiptDecoding",
                "Responses", "Storage", "VerifyReceipt", "BatchInput", "Reports", "Transport", "Comparison",
            ],
            swiftSettings: strict),
        .target(
            name: "Administration",
            dependencies: [
                "AppStoreTypes", "JSON", "Transport", "AppStorePayloads", "AppStoreClients", "Responses", "Storage",
                "VerifyReceipt", "BatchInput", "ConcurrencySupport", "Cryptography", "ListenerTLS", "Server",
            ],
            swiftSettings: strict),
        .target(
            name: "Notifications",
            dependencies: [
                "AppStoreTypes", "ConcurrencySupport", "Cryptography", "AppStorePayloads", "AppStoreClients",
                "Transport", "Responses", "Storage", "VerifyReceipt", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .target(
            name: "Simulator",
            dependencies: [
                "AppStoreTypes", "Cryptography", .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "receipt-bridge",
            dependencies: [
                "CMalloc", "AppStoreTypes", "ConcurrencySupport", "Cryptography", "Transport", "ReceiptDecoding",
                "AppStorePayloads", "AppStoreClients", "Responses", "VerifyReceipt", "Storage", "Batch", "Reports",
                "Server", "Simulator", "BatchInput", "Comparison", "Administration", "Notifications",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        // Tests: one target per source target, and end-to-end tests.
        .target(
            name: "TestSupport",
            dependencies: [
                "AppStoreTypes", "Cryptography", "ReceiptDecoding", "AppStorePayloads", "AppStoreClients",
                "VerifyReceipt", "Simulator", .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/TestSupport",
            swiftSettings: strict),
        .testTarget(
            name: "AppStoreTypesTests",
            dependencies: ["AppStoreTypes"],
            swiftSettings: strict),
        .testTarget(
            name: "ConcurrencySupportTests",
            dependencies: ["ConcurrencySupport", "HTTPTestServer", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "TelemetryTests",
            dependencies: ["Telemetry", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "JSONTests",
            dependencies: ["JSON"],
            swiftSettings: strict),
        .testTarget(
            name: "CryptographyTests",
            dependencies: ["COpenSSL", "Cryptography", "Simulator", "AppStoreTypes", "TestSupport"],
            swiftSettings: strict),
        .target(
            name: "HTTPTestServer",
            path: "Tests/HTTPTestServer",
            swiftSettings: strict),
        .testTarget(
            name: "TransportTests",
            dependencies: ["Transport", "HTTPTestServer", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ReceiptDecodingTests",
            dependencies: ["ReceiptDecoding", "Cryptography", "Simulator", "AppStoreTypes", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "AppStoreClientsTests",
            dependencies: [
                "AppStorePayloads", "AppStoreClients", "JSON", "Cryptography", "Transport", "AppStoreTypes",
                "Simulator", "HTTPTestServer", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ResponsesTests",
            dependencies: [
                "Responses", "AppStorePayloads", "AppStoreClients", "ReceiptDecoding", "AppStoreTypes", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ComparisonTests",
            dependencies: [
                "Comparison", "AppStorePayloads", "AppStoreClients", "Cryptography", "JSON", "Responses", "Reports",
                "Simulator", "AppStoreTypes", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "BatchTests",
            dependencies: [
                "Batch", "AppStorePayloads", "AppStoreClients", "Comparison", "Cryptography", "Storage",
                "VerifyReceipt", "Responses", "Reports", "Simulator", "BatchInput", "AppStoreTypes", "Transport",
                "TestSupport", .product(name: "Logging", package: "swift-log"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "VerifyReceiptTests",
            dependencies: [
                "VerifyReceipt", "AppStorePayloads", "AppStoreClients", "Comparison", "Cryptography", "Notifications",
                "Storage", "ListenerTLS", "ReceiptDecoding", "Responses", "Simulator", "AppStoreTypes", "Transport",
                "TestSupport", .product(name: "Logging", package: "swift-log"),
                .product(name: "InMemoryLogging", package: "swift-log"), .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "Server", "AppStorePayloads", "AppStoreClients", "Cryptography", "Administration", "Notifications",
                "HTTPTestServer", "Storage", "ListenerTLS", "VerifyReceipt", "Responses", "Simulator", "AppStoreTypes",
                "Telemetry", "Transport", "TestSupport", .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SimulatorTests",
            dependencies: ["Simulator", "Cryptography", "HTTPTestServer", "AppStoreTypes"],
            swiftSettings: strict),
        .testTarget(
            name: "StorageTests",
            dependencies: [
                "Storage", "Simulator", "AppStoreTypes", "TestSupport", .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "AdministrationTests",
            dependencies: [
                "Administration", "AppStorePayloads", "AppStoreClients", "Cryptography", "Storage", "Simulator",
                "AppStoreTypes", "Transport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "receipt-bridge", "HTTPTestServer", "Simulator", "AppStoreTypes", "TestSupport", "Transport",
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
                "AppStoreTypes", "JSON", "Cryptography", "ReceiptDecoding", "AppStorePayloads", "AppStoreClients",
                "Responses", "Comparison", "VerifyReceipt", "BatchInput",
            ],
            path: "Tests/Fuzzing", exclude: ["Corpus", "seeds.py"],
            swiftSettings: strict + [
                .enableExperimentalFeature("Extern"), .unsafeFlags(instrumented + ["-parse-as-library"]),
            ],
            linkerSettings: [.unsafeFlags(instrumented + ["-use-ld=lld"])]))
}
