/** One frame of a stream of server-sent events. */
export interface StreamFrame {
  /** What the frame is called; `message` where it says nothing. */
  event: string;
  data: string;
  /** What to send as Last-Event-ID to go on behind this frame; the latest one said, as the standard has it. */
  lastId: string;
}

/** More than any frame of this API has; a server without line breaks must not fill our memory. */
const FRAME_CHARS_MAX = 32 * 1024 * 1024;

/**
 * Reads frames as the HTML standard (§9.2.6) writes them. It takes no bytes that nobody waits for, and calls `onBytes`
 * for those that are no frame too: signs of life.
 */
export async function* readFrames(
  bytes: AsyncIterable<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<StreamFrame, void> {
  const decoder = new TextDecoder();
  let frame = { event: '', data: [] as string[] };
  let lastId = '';
  let rest = '';
  for await (const chunk of bytes) {
    onBytes();
    rest += decoder.decode(chunk, { stream: true });
    if (rest.length > FRAME_CHARS_MAX)
      throw new Error(`a line of the stream is longer than ${FRAME_CHARS_MAX} characters`);
    // A CR at the end may be half of a line break.
    const lines = rest.split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        const [name = '', value = ''] = fieldOf(line);
        if (name === 'event') frame.event = value;
        if (name === 'data') frame.data.push(value);
        if (name === 'id' && !value.includes('\0')) lastId = value;
        continue;
      }
      if (frame.data.length > 0) yield { event: frame.event || 'message', data: frame.data.join('\n'), lastId };
      frame = { event: '', data: [] };
    }
  }
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}
