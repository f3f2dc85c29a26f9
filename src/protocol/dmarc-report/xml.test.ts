import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { visitXml, XmlFault, type XmlElement } from './xml.ts';

function visited(xml: string): XmlElement[] {
  const elements: XmlElement[] = [];
  visitXml(xml, 'root', (element) => elements.push(element));
  return elements;
}

const element = (name: string, text: string, ...children: XmlElement[]): XmlElement => ({ name, text, children });

describe('XML', () => {
  it.each([
    ['<root/>', []],
    ['<root></root>', []],
    ['<root><a>1</a><b/></root>', [element('a', '1'), element('b', '')]],
    ['<root><a><b>1</b><b >2</b ></a></root>', [element('a', '', element('b', '1'), element('b', '2'))]],
    ['<root><a x="1>2" y=\'/>\'>t</a></root>', [element('a', 't')]],
    ['<n:root xmlns:n="urn:x"><n:a>t</n:a></n:root>', [element('a', 't')]],
    ['<root><a>1<!-- <a> -->2<?x <a> ?>3</a></root>', [element('a', '123')]],
    ['<root><a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;</a></root>', [element('a', '<>&"\'A\u{1F600}')]],
    ['<root><a>AT&T & Co &;</a></root>', [element('a', 'AT&T & Co &;')]],
    ['<root><a>&#1114112;&#xFFFFFF;</a></root>', [element('a', '\uFFFD\uFFFD')]],
    ['<root><a><![CDATA[<b>&amp;]]></a></root>', [element('a', '<b>&amp;')]],
    ['<root><root>1</root></root>', [element('root', '1')]],
    ['\uFEFF<?xml version="1.0"?>\n<!-- x --><root><a>1</a></root>', [element('a', '1')]],
  ])('is read from %j', (xml, elements) => {
    expect(visited(xml)).toEqual(elements);
  });

  it('before and after the root element is ignored, closed or not', () => {
    expect(visited('<w a="b"><x/><y>t</y><root><a>1</a></root></z><!DOCTYPE')).toEqual([element('a', '1')]);
  });

  it.each([
    ['', 'The file has no element root.'],
    ['unused', 'The file has no element root.'],
    ['<other><a/></other>', 'The file has no element root.'],
    ['<!DOCTYPE root [<!ENTITY a "aa">]><root/>', 'The XML has a document type, which a report does not need.'],
    ['<root><!ENTITY a "aa"></root>', 'The XML has a document type, which a report does not need.'],
    ['<root><a>&nbsp;</a></root>', 'The XML has the entity &nbsp;, which is not one of the five of XML.'],
    ['<root><a>&constructor;</a></root>', 'The XML has the entity &constructor;, which is not one of the five of XML.'],
    ['<root><a>1</a>', 'The XML is cut off in root.'],
    ['<root><a>1</b></root>', 'The XML closes b, which is not open.'],
    ['</a>', 'The XML closes a, which is not open.'],
    ['<root><a', 'The XML is cut off in the tag of a.'],
    ['<root><a x="1></a></root>', 'The XML is cut off: it lacks a ".'],
    ['<root><a <b></a></root>', 'The XML is cut off in the tag of a.'],
    ['<root><!-- x</root>', 'The XML is cut off: it lacks a -->.'],
    ['<root><![CDATA[x</root>', 'The XML is cut off: it lacks a ]]>.'],
    ['<?xml', 'The XML is cut off: it lacks a ?>.'],
    ['<root></root', 'The XML is cut off: it lacks a >.'],
    ['<root>1 < 2</root>', 'The XML has a "<" that does not begin an element.'],
    [`<root><${'a'.repeat(65)}>`, 'The XML has a "<" that does not begin an element.'],
    [`<root>${'<a>'.repeat(16)}`, 'The XML is nested more than 16 levels deep.'],
    ['<a>'.repeat(17), 'The XML is nested more than 16 levels deep.'],
    [`<root><a>${'<b/>'.repeat(5001)}</a></root>`, 'The XML has more than 5000 elements in one.'],
  ])('is refused with what is wrong with it (%#)', (xml, fault) => {
    expect(() => visited(xml)).toThrow(new XmlFault(fault));
  });

  it('may have any number of elements in the root, and cuts the text of each', () => {
    let elements = 0;
    const xml = `<root>${'<a><b/></a>'.repeat(20_000)}<c>${'x'.repeat(100_000)}</c></root>`;
    visitXml(xml, 'root', ({ name, text }) => {
      elements++;
      expect(name === 'c' ? text.length : 0).toBeLessThanOrEqual(4096);
    });
    expect(elements).toBe(20_001);
  });

  it('fails with no other exception than an XmlFault, whatever it is', () => {
    const token = fc.constantFrom(
      ...['<root>', '</root>', '<a>', '</a>', '<a/>', '<', '>', '"', "'", '&', ';', '&lt;', '&#', '/', '!', '?', '-->'],
      ...['<!--', '<![CDATA[', ']]>', '<?', '?>', 'x', ':', ' '],
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
        try {
          visited(tokens.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(XmlFault);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
