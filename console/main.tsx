/**
 * The console: a full screen over the same API and the same client as the command line, drawn from what cli/families says.
 * It promises to leave the terminal as it found it, however it ends, and to let nothing that a stranger wrote steer it.
 */
import { render } from 'ink';
import type { Client, Target } from '../cli/client/index.ts';
import type { Terminal } from '../cli/output/index.ts';
import { App, Guard } from './app.tsx';
import { operatorSections, sections, type Section } from './catalog.ts';
import { followTarget } from './follow-target.ts';
import { Navigator } from './navigator.ts';
import { guardTerminal } from './terminal.ts';

export interface ConsoleInput {
  client: Client;
  target: Target;
  terminal: Terminal;
  version: string;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream & { fd: number };
  env: Readonly<Record<string, string | undefined>>;
}

/** A development server gives the token of an operator beside the key of its team. */
function sectionsFor({ apiKey, operatorToken }: Target): readonly Section[] {
  if (apiKey?.startsWith('rkop_')) return operatorSections;
  return operatorToken === undefined ? sections : [...sections, ...operatorSections];
}

/** Runs until it is left; a fault of ours is thrown once the terminal is as it was. */
export async function openConsole(input: ConsoleInput): Promise<void> {
  const { client, target, terminal, version, stdin, stdout, env } = input;
  const guard = guardTerminal(stdin, stdout);
  const shown = sectionsFor(target);
  const navigator = new Navigator({
    ...followTarget(client, target, version),
    ...{ terminal, version, env, sections: shown },
    toClipboard: (text) => void stdout.write(`\u001B]52;c;${Buffer.from(text).toString('base64')}\u0007`),
    quit: () => guard.end(),
  });
  const app = (
    <Guard onFault={(fault) => guard.end(fault)}>
      <App navigator={navigator} version={version} urlFrom={target.urlFrom} />
    </Guard>
  );
  const [first] = shown;
  if (first) navigator.enter(first);
  // Not incrementally: that loses count of its lines where a frame has as many as the terminal.
  // A terminal on a machine that also builds software is a terminal all the same.
  const drawn = render(app, {
    ...{ stdin, stdout, alternateScreen: true, interactive: true },
    ...{ exitOnCtrlC: false, patchConsole: false },
  });
  guard.stopDrawing(() => drawn.unmount());
  drawn.waitUntilExit().catch((fault: unknown) => guard.end(fault));
  try {
    await guard.ended;
  } finally {
    navigator.close();
    guard.restore();
  }
}
