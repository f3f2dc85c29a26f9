import { loadConfig, showConfig } from '../../src/platform/config/index.ts';

export async function checkConfig(file: string | undefined): Promise<void> {
  const named = file ?? process.env.RASKET_CONFIG;
  loadConfig({ ...(named === undefined ? {} : { file: named }), env: process.env });
  console.log(named === undefined ? 'The settings of the environment are good.' : `${named} is good.`);
}

export async function printConfig(options: { config?: string; profile: 'production' | 'development' }): Promise<void> {
  const { profile } = options;
  const file = options.config ?? process.env.RASKET_CONFIG;
  const { config, sources } = loadConfig({ ...(file === undefined ? {} : { file }), profile, env: process.env });
  console.log(showConfig(config, sources));
}
