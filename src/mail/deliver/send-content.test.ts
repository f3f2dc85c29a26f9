import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messageBlocks } from './send-content.ts';

const wire = (chunks: Buffer[]): string => Buffer.concat([...messageBlocks(chunks)]).toString('latin1');

test('the same bytes are sent however a message is cut into chunks', () => {
  const piece = fc.constantFrom('.', '..', '\r\n', '\r\n.', 'a', 'lorem', '\r\n.\r\n');
  const message = fc.array(piece, { minLength: 1, maxLength: 30 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(message, fc.array(fc.nat(120), { maxLength: 10 }), (text, cuts) => {
      const edges = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const chunks = edges.slice(1).map((edge, index) => Buffer.from(text.slice(edges[index], edge)));
      expect(wire(chunks)).toBe(wire([Buffer.from(text)]));
    }),
  );
});

test('a server that removes the dot stuffing gets the message back, with its last line ended', () => {
  const line = fc.constantFrom('', '.', '..', 'text', '.text', 'te.xt');
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), fc.boolean(), (lines, isEnded) => {
      const text = lines.map((each) => `${each}\r\n`).join('');
      const sent = wire([Buffer.from(isEnded || lines.at(-1) === '' ? text : text.slice(0, -2))]);
      expect(sent.replace(/(^|\r\n)\./g, '$1')).toBe(text);
      expect(sent.startsWith('.\r\n') || sent.includes('\r\n.\r\n')).toBe(false);
    }),
  );
});

test('a message without leading dots is not copied', () => {
  const chunk = Buffer.from('Subject: x\r\n\r\nbody\r\n');
  expect([...messageBlocks([chunk])][0]).toBe(chunk);
});
