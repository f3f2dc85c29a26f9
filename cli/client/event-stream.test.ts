import { expect, test } from 'vitest';
import { readFrames, type StreamFrame } from './client.ts';

async function framesOf(...chunks: (string | Uint8Array)[]): Promise<StreamFrame[]> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  }
  const frames: StreamFrame[] = [];
  for await (const frame of readFrames(bytes(), () => undefined)) frames.push(frame);
  return frames;
}

test('a frame is its event, its data and the latest id', async () => {
  expect(await framesOf('id: 1\nevent: a\ndata: x\n\ndata: y\n\nid\ndata:z\n\n')).toEqual([
    { event: 'a', data: 'x', lastId: '1' },
    { event: 'message', data: 'y', lastId: '1' },
    { event: 'message', data: 'z', lastId: '' },
  ]);
});

// HTML §9.2.6: lines end with LF, CR or both, and several data lines are one text.
test('all line ends are read, and data of several lines is joined', async () => {
  expect(await framesOf('data: a\r\ndata: b\r\n\r\ndata: c\r\rdata: d\n\n')).toMatchObject([
    { data: 'a\nb' },
    { data: 'c' },
    { data: 'd' },
  ]);
});

test('comments, unknown fields and frames without data are no frames', async () => {
  expect(await framesOf(':\n\n: beat\n\nretry: 2000\n\nevent: nothing\n\nfoo: bar\ndata: x\n\n')).toEqual([
    { event: 'message', data: 'x', lastId: '' },
  ]);
});

test('what is cut anywhere is read alike, and what has no end is no frame', async () => {
  const text = Buffer.from('id: 7\r\nevent: e\r\ndata: grüße 🎉\r\n\r\ndata: lost');
  const whole = await framesOf(text);
  expect(whole).toEqual([{ event: 'e', data: 'grüße 🎉', lastId: '7' }]);
  for (let cut = 1; cut < text.length; cut++) {
    expect(await framesOf(text.subarray(0, cut), text.subarray(cut)), `cut at ${cut}`).toEqual(whole);
  }
});

test('every byte is a sign of life', async () => {
  let signs = 0;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(':\n\n');
    yield Buffer.from(':\n\n');
  }
  for await (const _ of readFrames(bytes(), () => signs++)) throw new Error('no frame was sent');
  expect(signs).toBe(2);
});
