type Environment = Readonly<Record<string, string | undefined>>;

/** Opens an address or a file in the browser of the desktop; returns whether there is one. */
export function openInBrowser(env: Environment, what: string): Promise<boolean> {
  const opener = findDesktopOpener(env);
  return opener === undefined ? Promise.resolve(false) : start(env, [opener, what]);
}

/**
 * Opens a file with the command of $RASKET_OPEN, or with the program that the desktop has for it; returns whether one
 * was started. `failed` is called if it ends with a failure later.
 */
export function openFile(env: Environment, file: string, failed: (reason: string) => void): Promise<boolean> {
  const command = env['RASKET_OPEN'];
  // The shell splits a command with options, as for $EDITOR.
  if (command) return start(env, ['/bin/sh', '-c', `${command} "$1"`, 'sh', file], failed);
  const opener = findDesktopOpener(env);
  return opener === undefined ? Promise.resolve(false) : start(env, [opener, file], failed);
}

/**
 * Returns the command that opens things on a desktop; undefined without one: there, xdg-open uses a browser in the
 * terminal, or asks for minutes in vain.
 */
function findDesktopOpener(env: Environment): string | undefined {
  if (process.platform === 'darwin') return 'open';
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? 'xdg-open' : undefined;
}

function start(
  env: Environment,
  [program = '', ...words]: readonly string[],
  failed: (reason: string) => void = () => undefined,
): Promise<boolean> {
  // An import would be loaded with every command that may sign in.
  const { spawn } = process.getBuiltinModule('node:child_process');
  return new Promise((resolve) => {
    const opener = spawn(program, words, { detached: true, stdio: 'ignore', env: { ...env } });
    opener.once('error', () => resolve(false));
    opener.once('exit', (status, signal) => {
      if (status !== 0) failed(signal === null ? `status ${status}` : signal);
    });
    opener.once('spawn', () => {
      opener.unref();
      resolve(true);
    });
  });
}
