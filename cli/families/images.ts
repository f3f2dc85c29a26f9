import { declareAction, declareDetail, declareList, readIn, withRemaining } from './family.ts';
import type { Action, FieldsOf } from './family.ts';

const fields: FieldsOf<'listImages' | 'getImage'> = { url: 'Address' };

const upload: Action = {
  operation: 'createImage',
  verb: 'upload',
  key: 'c',
  summary: 'upload images for emails',
  description:
    'Upload each file, a PNG, JPEG, GIF or WebP image of at most 5 MB (or the limit of the server), and print the address to use in HTML. An image that the team has already uploaded keeps its address.',
  example: 'images upload logo.png header.jpg',
  path: {},
  flags: {
    file: { value: '<file>', says: 'an image file', isWord: true, isFile: true, isVariadic: true, isRequired: true },
  },
};

export const images = withRemaining({
  summary: 'upload and manage images for emails',
  list: declareList('listImages', {
    fields,
    columns: ['id', 'content_type', 'bytes', 'width', 'height', 'created_at'],
    wide: ['url'],
  }),
  get: declareDetail('getImage', {
    fields,
    columns: ['id', 'url', 'content_type', 'bytes', 'width', 'height', 'created_at'],
  }),
  actions: [
    upload,
    declareAction('deleteImage', {
      destroys: { name: readIn('getImage', ({ url: address }) => address.split('/').at(-1) ?? address) },
    }),
  ],
});
