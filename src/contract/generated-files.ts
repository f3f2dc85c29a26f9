import { CONTRACT_FILE } from './load.ts';
import { readContractSources } from './read-sources.ts';
import { renderTypes } from './render-types.ts';

/** What the YAML files generate, by file name. */
export async function generatedFiles(): Promise<{ name: string; text: string }[]> {
  const document = readContractSources();
  return [
    { name: CONTRACT_FILE, text: `${JSON.stringify(document, null, 1)}\n` },
    { name: 'types.gen.ts', text: await renderTypes(document) },
  ];
}
