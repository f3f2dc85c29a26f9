import http from 'node:http';

export interface Frame {
  event: string;
  id: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read three shapes of frames.
  data: any;
}

export interface EventStream extends AsyncDisposable {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Returns everything that arrived, byte for byte. */
  text(): string;
  frames(): Frame[];
  /** Resolves with the frames when that many (with a name, if one is given) have arrived. */
  until(count: number, event?: string): Promise<Frame[]>;
  /** Resolves when the text satisfies `holds`. */
  untilText(holds: (text: string) => boolean): Promise<void>;
  /** Resolves when the server has ended the stream; never rejects. */
  ended: Promise<void>;
  /** Stops or resumes reading from the connection. */
  pause(): void;
  resume(): void;
  /** Breaks the connection. */
  drop(): void;
}

export interface StreamCall {
  key: string;
  /** Used instead of the header of the key. */
  headers?: Record<string, string>;
  events?: string;
  lastId?: string;
}

/** Opens GET /webhooks/listen as a client of the real port. */
export function openEventStream(
  url: string,
  { key, events, lastId, headers: given }: StreamCall,
): Promise<EventStream> {
  const query = events === undefined ? '' : `?events=${encodeURIComponent(events)}`;
  const headers = {
    'user-agent': 'rasket-tests/1',
    ...(given ?? { authorization: `Bearer ${key}` }),
    ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
  };
  return new Promise((resolve, reject) => {
    const request = http.get(`${url}/webhooks/listen${query}`, { headers, agent: false }, (response) => {
      let text = '';
      let waiters: (() => void)[] = [];
      const notify = (): void => {
        const waiting = waiters;
        waiters = [];
        for (const look of waiting) look();
      };
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
        notify();
      });
      response.on('error', () => undefined);
      const ended = new Promise<void>((end) => response.once('close', end));
      void ended.then(notify);
      const until = async (holds: () => boolean): Promise<void> => {
        while (!holds()) {
          if (response.closed) throw new Error(`the stream ended with:\n${text}`);
          await new Promise<void>((look) => waiters.push(look));
        }
      };
      const framesNamed = (event?: string): Frame[] =>
        parseFrames(text).filter((frame) => event === undefined || frame.event === event);
      const drop = (): void => void request.destroy();
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: () => text,
        frames: () => parseFrames(text),
        async until(count, event) {
          await until(() => framesNamed(event).length >= count);
          return framesNamed(event);
        },
        untilText: (holds) => until(() => holds(text)),
        ended,
        pause: () => void response.pause(),
        resume: () => void response.resume(),
        drop,
        async [Symbol.asyncDispose]() {
          drop();
          await ended;
        },
      });
    });
    request.on('error', reject);
  });
}

function parseFrames(text: string): Frame[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .filter((frame) => frame.includes('\ndata: ') || frame.startsWith('data: '))
    .map((frame) => {
      const fields = new Map(frame.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
      return {
        event: fields.get('event') ?? '',
        id: fields.get('id') ?? '',
        data: JSON.parse(fields.get('data') ?? '') as unknown,
      };
    });
}
