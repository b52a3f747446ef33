// Everything in one file. What the component asks for and a lone panel does not need is left empty.
import { defineConfig } from 'vite';
import react from '@vitejs/plugin-react';
import { fileURLToPath } from 'node:url';

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
export default defineConfig({
  plugins: [react()],
  base: './',
  define: { 'process.env.NODE_ENV': '"production"' },
  resolve: {
    dedupe: ['react', 'react-dom'],
    alias: [
      { find: '@grafana/assistant', replacement: file('./assistant.js') },
      { find: /^react-custom-scrollbars-2$/, replacement: file('./scrollbars.js') },
    ],
  },
  build: {
    outDir: 'dist',
    target: 'esnext',
    lib: { entry: 'panel.jsx', formats: ['es'], fileName: () => 'panel.js', cssFileName: 'panel' },
  },
});
