/// A drawing as SVG. The words or the table next to it have the same data, so a screen reader treats it as one image.
package struct Drawing: Sendable {
    package struct Shape: Sendable {
        let name: StaticString
        let attributes: Attributes
        let text: String?

        package init(_ name: StaticString, _ attributes: Attributes, text: String? = nil) {
            (self.name, self.attributes, self.text) = (name, attributes, text)
        }

        /// A rectangle, whose color is that of its class in the style sheet.
        package static func rectangle(
            _ style: String, x: some CustomStringConvertible, y: some CustomStringConvertible,
            width: some CustomStringConvertible, height: Int, rounding: Attributes = [:]
        ) -> Self {
            let place: Attributes = ["x": "\(x)", "y": "\(y)", "width": "\(width)", "height": "\(height)"]
            return Self("rect", ["class": style] + place + rounding)
        }
    }

    let attributes: Attributes
    let shapes: [Shape]

    package init(_ attributes: Attributes, _ shapes: [Shape]) {
        (self.attributes, self.shapes) = (attributes, shapes)
    }

    /// A drawing of this size in CSS pixels, if the page is wide enough.
    ///
    /// - Parameter title: Description for screen readers.
    package init(width: Int, height: Int, titled title: String, _ shapes: [Shape]) {
        self.init(
            [
                "viewBox": "0 0 \(width) \(height)", "width": "\(width)", "height": "\(height)", "role": "img",
                "aria-label": title,
            ], shapes)
    }
}
