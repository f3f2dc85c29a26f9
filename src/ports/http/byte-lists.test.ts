import { describe, expect, it } from 'vitest';
import { cutByteLists, placeByteLists, restoreByteLists } from './byte-lists.ts';

const content = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 256));
const asList = JSON.stringify([...content]);

/** Reads a text as the port does, and returns what JSON.parse alone would. */
async function readBack(text: string): Promise<unknown> {
  const cut = await cutByteLists(Buffer.from(text));
  const value: unknown = JSON.parse(cut.bytes.toString());
  placeByteLists(value, cut.lists);
  restoreByteLists(value);
  return value;
}

describe('lists of bytes in a JSON text', () => {
  it('become Buffers in their place, with any white space', async () => {
    const spaced = asList.replaceAll(',', ' ,\n ');
    const cut = await cutByteLists(Buffer.from(`{"a":"[1,2","b":[{"content":${asList}},{"data": ${spaced}}]}`));
    expect(cut.bytes.length).toBeLessThan(200);
    const value = JSON.parse(cut.bytes.toString()) as { b: [{ content: Buffer }, { data: Buffer }] };
    placeByteLists(value, cut.lists);
    expect(value.b[0].content.equals(content)).toBe(true);
    expect(value.b[1].data.equals(content)).toBe(true);
  });

  it.each([
    ['a number above 255', '[256'],
    ['a negative number', '[-1'],
    ['a fraction', '[1.5'],
    ['a text', '["1"'],
    ['a list', '[[1]'],
  ])('stay in the text with %s', async (_, begin) => {
    const text = `{"a":${begin},${asList.slice(1)}}`;
    expect((await cutByteLists(Buffer.from(text))).lists.size).toBe(0);
    const late = `{"a":${asList.slice(0, -1)},${begin.slice(1)}]}`;
    expect((await cutByteLists(Buffer.from(late))).lists.size).toBe(0);
  });

  it.each([
    ['no number between two commas', `[${'1,'.repeat(5000)},1]`],
    ['a comma at the end', `[${'1,'.repeat(5000)}]`],
    ['a leading zero', `[${'1,'.repeat(5000)}01]`],
    ['two numbers without a comma', `[${'1,'.repeat(5000)}1 2]`],
    ['no end', `[${'1,'.repeat(5000)}1`],
  ])('are left to the parser, which refuses them, with %s', async (_, list) => {
    const text = `{"a":${list}}`;
    const cut = await cutByteLists(Buffer.from(text));
    expect(cut.lists.size).toBe(0);
    expect(() => JSON.parse(cut.bytes.toString())).toThrow(SyntaxError);
  });

  it('are restored when no field takes them as bytes, and texts that look like placeholders stay', async () => {
    const value = { a: 'bytes 0', b: '[1,2,3]\\"[', c: [...content.subarray(0, 5000)], d: { e: [1, 2], f: null } };
    expect(await readBack(JSON.stringify(value))).toEqual(value);
    expect(await readBack(`{"__proto__":${asList},"a":1}`)).toEqual(JSON.parse(`{"__proto__":${asList},"a":1}`));
  });

  it('do not block the event loop while they are read', async () => {
    let turns = 0;
    let isReading = true;
    const count = (): void => {
      turns += 1;
      if (isReading) setImmediate(count);
    };
    setImmediate(count);
    const text = Buffer.from(`{"content":[${asList.slice(1, -1)},${'1,'.repeat(2_000_000)}1]}`);
    await cutByteLists(text);
    isReading = false;
    expect(turns).toBeGreaterThan(10);
  });
});
