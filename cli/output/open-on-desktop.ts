type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Opens an address or a file in the browser of the desktop; returns whether there is one. Without a desktop xdg-open
 * uses a browser in the terminal, or asks for minutes in vain.
 */
export function openInBrowser(env: Environment, what: string): Promise<boolean> {
  const isMac = process.platform === 'darwin';
  if (!isMac && !env['DISPLAY'] && !env['WAYLAND_DISPLAY']) return Promise.resolve(false);
  // An import would be loaded with every command that may sign in.
  const { spawn } = process.getBuiltinModule('node:child_process');
  return new Promise((resolve) => {
    const opener = spawn(isMac ? 'open' : 'xdg-open', [what], { detached: true, stdio: 'ignore', env: { ...env } });
    opener.once('error', () => resolve(false));
    opener.once('spawn', () => {
      opener.unref();
      resolve(true);
    });
  });
}
