/**
 * The console: a full screen over the same API and the same client as the command line, drawn from the declarations of
 * cli/families. It restores the terminal however it ends, and no text of untrusted senders controls the terminal.
 */
import { render } from 'ink';
import type { ReactNode } from 'react';
import type { Client, Target } from '../cli/client/index.ts';
import type { Terminal } from '../cli/output/index.ts';
import { App, Guard } from './app.tsx';
import { operatorSections, sections, type Section } from './catalog.ts';
import { followTarget } from './follow-target.ts';
import { Navigator } from './navigator.ts';
import { guardTerminal, type TerminalGuard } from './terminal.ts';

export interface ConsoleInput {
  client: Client;
  target: Target;
  terminal: Terminal;
  version: string;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream & { fd: number };
  env: Readonly<Record<string, string | undefined>>;
}

/** A development server provides the token of an operator in addition to the key of its team. */
function sectionsFor({ apiKey, operatorToken }: Target): readonly Section[] {
  if (apiKey?.startsWith('rkop_')) return operatorSections;
  return operatorToken === undefined ? sections : [...sections, ...operatorSections];
}

/**
 * Returns the element to draw and the navigator behind it, which must be closed. `end` is called when the user leaves,
 * and with a fault of the console; `lend` when another program needs the terminal.
 */
export function createConsole(
  { client, target, terminal, version, stdout, env }: Omit<ConsoleInput, 'stdin'>,
  { end, lend }: Partial<Pick<TerminalGuard, 'lend'>> & Pick<TerminalGuard, 'end'>,
): { app: ReactNode; navigator: Navigator } {
  const shown = sectionsFor(target);
  const navigator = new Navigator({
    ...followTarget(client, target, version),
    terminal,
    version,
    env,
    sections: shown,
    toClipboard: (text) => void stdout.write(`\u001B]52;c;${Buffer.from(text).toString('base64')}\u0007`),
    quit: () => end(),
    ...(lend ? { lend } : {}),
  });
  const [first] = shown;
  if (first) navigator.enter(first);
  const app = (
    <Guard onFault={end}>
      <App navigator={navigator} version={version} urlFrom={target.urlFrom} />
    </Guard>
  );
  return { app, navigator };
}

/** Runs until it is left; a fault of ours is thrown once the terminal is as it was. */
export async function openConsole(input: ConsoleInput): Promise<void> {
  const { stdin, stdout } = input;
  const guard = guardTerminal(stdin, stdout);
  const { app, navigator } = createConsole(input, guard);
  // Not incrementally: ink loses count of its lines when a frame has as many as the terminal. A terminal on a CI
  // machine is a terminal all the same.
  const drawn = render(app, {
    stdin,
    stdout,
    alternateScreen: true,
    interactive: true,
    exitOnCtrlC: false,
    patchConsole: false,
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
