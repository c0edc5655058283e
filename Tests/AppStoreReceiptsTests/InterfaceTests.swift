import Foundation
import Testing
import ReceiptBridgeTestSupport

@Suite("The library: public interface")
struct InterfaceTests {
    @Test("docs/library-interface.txt lists what is public; RECORD_GOLDENS=1 writes it and fails once")
    func recorded() throws {
        let interface = try ["AppStoreReceipts", "AppStoreReceiptsTesting"].flatMap { target in
            let sources = Repository.folder.appending(path: "Sources/\(target)")
            let names = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
            return try names.filter { $0.hasSuffix(".swift") }.sorted().map {
                try String(contentsOf: sources.appending(path: $0), encoding: .utf8)
            }.filter { $0.contains("public ") }.map(Self.declarations)
        }.joined()
        #expect(
            try RecordedDocument.has(interface, in: "docs/library-interface.txt"),
            "the public interface changed: if that is intended, record it. \(RecordedDocument.hint)")
    }

    @Test("A declaration is listed whole, without its body and without what is not public")
    func listing() {
        let source = """
            /// A public type.
            public struct A: Sendable {
                let hidden: Int
                public let shown: Int
                public init(
                    shown: Int, other: Int = 1
                ) throws(E) {
                    switch shown { default: hidden = 0 }
                }
            }

            extension A {
                public var next: Int { shown + 1 }
                func internalOne() {
                    switch next {
                    case .min: break
                    }
                }
            }
            extension B { var hidden: Int { 1 } }
            public enum E: String, Error {
                case first, second
            }
            """
        #expect(
            Self.declarations(in: source) == """
                public struct A: Sendable
                    public let shown: Int
                    public init( shown: Int, other: Int = 1 ) throws(E)
                extension A
                    public var next: Int
                public enum E: String, Error
                    case first, second

                """)
    }

    /// Returns the declarations that other packages see, each on one line.
    private static func declarations(in source: String) -> String {
        var (listing, header) = ("", "")
        var lines = source.split(separator: "\n", omittingEmptySubsequences: true)[...]
        while let line = lines.popFirst() {
            let indentation = String(line.prefix { $0 == " " })
            let text = line.dropFirst(indentation.count)
            let isCase = text.hasPrefix("case ") && text.dropFirst(5).first?.isLetter == true
            guard
                text.hasPrefix("public ") && !text.hasPrefix("public import") || text.hasPrefix("extension ") || isCase
            else { continue }
            var declaration = String(text)
            func count(_ character: Character) -> Int { declaration.count { $0 == character } }
            while count("(") > count(")"), let next = lines.popFirst() {
                declaration += " " + next.drop { $0 == " " }
            }
            let body = declaration.firstRange(of: " {")?.lowerBound ?? declaration.endIndex
            let listed = indentation + declaration[..<body] + "\n"
            // The header of an extension is listed with its first public member, or with its protocol.
            if text.hasPrefix("extension "), !listed.contains(":") {
                header = listed
            } else {
                listing += (indentation.isEmpty ? "" : header) + listed
                header = ""
            }
        }
        return listing
    }
}
