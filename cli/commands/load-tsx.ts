import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Node strips types but knows no JSX: from here on, modules that end in `.tsx` are compiled as they are loaded. */
export async function loadTsx(): Promise<void> {
  const { transformSync } = await import('esbuild');
  registerHooks({
    load(url, context, next) {
      if (!url.endsWith('.tsx')) return next(url, context);
      const file = fileURLToPath(url);
      const { code } = transformSync(readFileSync(file, 'utf8'), {
        loader: 'tsx',
        jsx: 'automatic',
        format: 'esm',
        target: 'node24',
        sourcefile: file,
        sourcemap: 'inline',
        sourcesContent: false,
      });
      return { format: 'module', source: code, shortCircuit: true };
    },
  });
}
