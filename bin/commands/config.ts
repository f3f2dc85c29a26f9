import { readFileSync } from 'node:fs';
import { ConfigFault, placeOf, showConfig } from '../../src/platform/config/index.ts';
import { becomeOwnerOf } from '../installation.ts';
import { examineNamedFiles } from './named-files.ts';
import { dataFolder, readSettings } from './open.ts';

/** As the server would be started with it, with the files that it names. */
export async function checkConfig(given: string | undefined): Promise<void> {
  const { config, sources, file } = readSettings(given === undefined ? {} : { config: given }, { isServing: true });
  const text = file === undefined ? '' : readFileSync(file, 'utf8');
  const dataDir = dataFolder({});
  // Root may read what the account of the service may not.
  becomeOwnerOf(dataDir);
  const faults: string[] = [];
  for (const { key, text: says, isWarning } of examineNamedFiles(config, dataDir)) {
    const line = `${placeOf(key, { sources, file, text })}: ${says}`;
    if (isWarning) process.stderr.write(`rasket: warning: ${line}\n`);
    else faults.push(line);
  }
  if (faults.length > 0) throw new ConfigFault(faults);
  console.log(file === undefined ? 'The settings of the environment are good.' : `${file} is good.`);
}

export async function printConfig(options: { config?: string; profile: 'production' | 'development' }): Promise<void> {
  const { config, sources } = readSettings(options, { profile: options.profile });
  console.log(showConfig(config, sources));
}
