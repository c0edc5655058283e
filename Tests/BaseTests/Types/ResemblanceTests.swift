import ReceiptBridgeBase
import Testing

@Suite("Resemblance of texts")
struct ResemblanceTests {
    @Test(
        "A text with at most two edits is a misspelling",
        arguments: [
            ("com.exmaple.app", true), ("com.Example.App", true), ("com.example.ap", true), ("com.example.apps", true),
            ("xcom.example.appx", true), ("com.example.app", true), ("", false), ("com.xemapel.ap", false),
            ("com.other.app", false), ("app", false),
        ])
    func table(text: String, isSimilar: Bool) {
        #expect("com.example.app".resembles(text) == isSimilar)
        #expect(text.resembles("com.example.app") == isSimilar)
    }

    @Test("The nearest names are suggested, and none for a short text")
    func suggestion() {
        #expect("stroe".didYouMean(["serve", "store", "lookup"]) == ". Did you mean store?")
        #expect("lisst".didYouMean(["list", "lists"]) == ". Did you mean list or lists?")
        #expect("at".didYouMean(["as"]).isEmpty && "store".didYouMean(["lookup"]).isEmpty)
    }

    @Test("The empty text is similar to texts of at most two bytes")
    func empty() { #expect("".resembles("") && "".resembles("ab") && !"".resembles("abc")) }
}
