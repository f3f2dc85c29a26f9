import { showConfig } from '../../src/platform/config/index.ts';
import { readSettings } from './open.ts';

/** As the server would be started with it. */
export async function checkConfig(file: string | undefined): Promise<void> {
  const checked = readSettings(file === undefined ? {} : { config: file }, { isServing: true });
  console.log(checked.file === undefined ? 'The settings of the environment are good.' : `${checked.file} is good.`);
}

export async function printConfig(options: { config?: string; profile: 'production' | 'development' }): Promise<void> {
  const { config, sources } = readSettings(options, { profile: options.profile });
  console.log(showConfig(config, sources));
}
