import { createInterface } from 'node:readline';
import { CliFault, type CommandProcess } from '../output/index.ts';

type Asked = Pick<CommandProcess, 'stdin' | 'stderr'>;

/** Everything on standard input; at a terminal, until Ctrl-D. */
export async function readStdin({ stdin, stderr }: Asked): Promise<Buffer> {
  if (stdin.isTTY) stderr.write('Reading from the terminal; press Ctrl-D on an empty line to finish.\n');
  const chunks: Buffer[] = [];
  for await (const chunk of stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Reads a line that is typed without being shown at a terminal; from a pipe, its first line. */
export async function readSecret({ stdin, stderr }: Asked, prompt: string): Promise<string> {
  if (!stdin.isTTY) return (await readStdin({ stdin, stderr })).toString('utf8').split(/\r?\n/, 1)[0] ?? '';
  // Raw mode begins before the prompt: an immediate reply to it must not be echoed.
  stdin.setRawMode(true);
  stderr.write(prompt);
  try {
    return await readHidden(stdin);
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

/** Reads one line that is typed visibly at a terminal. */
export function readLine({ stdin, stderr }: Asked, prompt: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr });
  return new Promise((resolve) => {
    const onEnd = (): void => {
      // After Ctrl-C or Ctrl-D, the next output starts on a line of its own.
      stderr.write('\n');
      resolve('');
    };
    lines.once('close', onEnd);
    lines.question(prompt, (answer) => {
      lines.off('close', onEnd);
      resolve(answer);
      lines.close();
    });
  });
}

const INTERRUPT = '\u0003';
const END = '\u0004';

function readHidden(stdin: NodeJS.ReadStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let line = '';
    const done = (): void => void stdin.off('data', onData).off('end', onEnd);
    const onEnd = (): void => {
      done();
      resolve(line);
    };
    const onData = (chunk: string): void => {
      for (const typed of chunk) {
        if (typed === '\r' || typed === '\n' || typed === END) return onEnd();
        if (typed === INTERRUPT) {
          done();
          return reject(new CliFault('nothing was changed'));
        }
        line = typed === '\u007f' || typed === '\b' ? line.slice(0, -1) : line + typed;
      }
    };
    stdin.setEncoding('utf8').on('data', onData).on('end', onEnd).resume();
  });
}
