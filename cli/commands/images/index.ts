import type { Command } from 'commander';
import { images } from '../../families/index.ts';
import { declareFamily } from '../declare-family.ts';

export const addImageCommands = (program: Command): void =>
  declareFamily(program, images, {
    actions: { upload: { run: async (...call) => (await import('./upload.ts')).runUpload(...call) } },
  });
