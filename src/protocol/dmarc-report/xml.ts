/** An element with its text and the elements within it. Attributes and prefixes of names are left out. */
export type XmlElement = {
  name: string;
  text: string;
  children: XmlElement[];
};

/** Describes what is wrong with the XML, as one sentence. */
export class XmlFault extends Error {
  override name = 'XmlFault';
}

const DEPTH_MAX = 16;
/** Within one visited element. */
const ELEMENTS_MAX = 5000;
/** Of one element; longer text is cut. */
const TEXT_CHARS_MAX = 4096;
const NAME_CHARS_MAX = 64;

/**
 * Reads XML up to the end of the first element called `root`, and calls `visit` with each element directly in it. Only
 * one of them is in memory at a time. Everything before and after the root is ignored, because some senders wrap their
 * reports. Document types and entities other than the five of XML are refused, so nothing can expand. Takes linear
 * time. Throws an `XmlFault` if the XML is malformed or too large.
 */
export function visitXml(xml: string, root: string, visit: (element: XmlElement) => void): void {
  const open: XmlElement[] = [];
  /** The number of open elements with the root as the last of them. */
  let rootDepth = 0;
  let elements = 0;
  let at = 0;
  for (;;) {
    const tag = xml.indexOf('<', at);
    if (tag === -1)
      throw new XmlFault(rootDepth > 0 ? `The XML is cut off in ${root}.` : `The file has no element ${root}.`);
    const top = open.at(-1);
    if (rootDepth > 0 && top) appendText(top, decodeText(xml, at, tag));
    if (xml.startsWith('<!--', tag)) {
      at = endOf(xml, '-->', tag + 4);
    } else if (xml.startsWith('<![CDATA[', tag)) {
      at = endOf(xml, ']]>', tag + 9);
      if (top) appendText(top, xml.slice(tag + 9, Math.min(at - 3, tag + 9 + TEXT_CHARS_MAX)));
    } else if (xml.startsWith('<?', tag)) {
      at = endOf(xml, '?>', tag + 2);
    } else if (xml.startsWith('<!', tag)) {
      throw new XmlFault('The XML has a document type, which a report does not need.');
    } else if (xml.startsWith('</', tag)) {
      at = endOf(xml, '>', tag + 2);
      const name = localName(xml.slice(tag + 2, Math.min(at - 1, tag + 2 + NAME_CHARS_MAX * 2)).trim());
      if (top?.name !== name) throw new XmlFault(`The XML closes ${name}, which is not open.`);
      if (open.length === rootDepth) return;
      open.pop();
      if (rootDepth === 0 || open.length > rootDepth) continue;
      visit(top);
      elements = 0;
    } else {
      const start = readStartTag(xml, tag);
      at = start.end;
      const element: XmlElement = { name: start.name, text: '', children: [] };
      const isRoot = rootDepth === 0 && start.name === root;
      if (isRoot && start.isEmpty) return;
      if (rootDepth > 0 && open.length > rootDepth) {
        if (++elements > ELEMENTS_MAX) throw new XmlFault(`The XML has more than ${ELEMENTS_MAX} elements in one.`);
        top?.children.push(element);
      }
      if (start.isEmpty) {
        if (rootDepth > 0 && open.length === rootDepth) visit(element);
        continue;
      }
      if (open.push(element) > DEPTH_MAX) throw new XmlFault(`The XML is nested more than ${DEPTH_MAX} levels deep.`);
      if (isRoot) rootDepth = open.length;
    }
  }
}

function endOf(xml: string, mark: string, from: number): number {
  const at = xml.indexOf(mark, from);
  if (at === -1) throw new XmlFault(`The XML is cut off: it lacks a ${mark}.`);
  return at + mark.length;
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

/** Reads `<prefix:name attribute="value">` at `at`, where a value may have a `>` in it. */
function readStartTag(xml: string, at: number): { name: string; isEmpty: boolean; end: number } {
  const name = /^[A-Za-z_][\w:.-]*/.exec(xml.slice(at + 1, at + 1 + NAME_CHARS_MAX * 2))?.[0] ?? '';
  if (name === '' || name.length > NAME_CHARS_MAX)
    throw new XmlFault('The XML has a "<" that does not begin an element.');
  let end = at + 1 + name.length;
  for (;;) {
    const char = xml[end];
    if (char === undefined || char === '<') throw new XmlFault(`The XML is cut off in the tag of ${name}.`);
    if (char === '>') break;
    end = char === '"' || char === "'" ? endOf(xml, char, end + 1) : end + 1;
  }
  return { name: localName(name), isEmpty: xml[end - 1] === '/', end: end + 1 };
}

function appendText(element: XmlElement, text: string): void {
  if (element.text.length < TEXT_CHARS_MAX) element.text += text;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Decodes the text between two tags, cut to the limit. An `&` that begins no reference stays as it is. */
function decodeText(xml: string, from: number, to: number): string {
  const text = xml.slice(from, Math.min(to, from + TEXT_CHARS_MAX));
  if (!text.includes('&')) return text;
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z][\w.-]{0,63}));/gi,
    (_reference, decimal, hex, entity) =>
      entity === undefined ? decodeNumber(decimal, hex) : decodeEntity(String(entity)),
  );
}

function decodeEntity(name: string): string {
  const char = Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
  if (char === undefined) throw new XmlFault(`The XML has the entity &${name};, which is not one of the five of XML.`);
  return char;
}

function decodeNumber(decimal: unknown, hex: unknown): string {
  const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\uFFFD';
}
