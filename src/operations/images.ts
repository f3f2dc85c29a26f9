import { deleteImage, getImage, listImages } from '../features/templates/images/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const images = {
  listImages: (ctx, { query }) => listImages(ctx, pageOf(query)),
  getImage: (ctx, { path }) => getImage(ctx, path.image_id),
  deleteImage: (ctx, { path, query = {} }) => deleteImage(ctx, path.image_id, query),
} satisfies Partial<Operations>;
