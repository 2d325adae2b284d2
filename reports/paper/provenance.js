var provenance = window.provenance || {};
provenance.paper = {
 "check@a_bce": {
  "seconds": 2.457,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_eq1": {
  "seconds": 2.549,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@a_eq2": {
  "seconds": 6.245,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@a_fig1": {
  "seconds": 2.865,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "c8011952d1b90fd2"
 },
 "check@a_fig10": {
  "seconds": 5.543,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "27d66255254e4489"
 },
 "check@a_fig11": {
  "seconds": 2.124,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "84ea2fb3a0a290b6"
 },
 "check@a_fig12": {
  "seconds": 3.787,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "02e27ac0f4379ec9"
 },
 "check@a_fig13": {
  "seconds": 1.487,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "3767b47809a5f7ea"
 },
 "check@a_fig14": {
  "seconds": 1.35,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "3767b47809a5f7ea"
 },
 "check@a_fig2": {
  "seconds": 5.258,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "ea2af6a285471661"
 },
 "check@a_fig3": {
  "seconds": 6.387,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "60b7e1cf702baa68"
 },
 "check@a_fig4": {
  "seconds": 7.962,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "242adc29d0492673"
 },
 "check@a_fig5": {
  "seconds": 5.313,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "27d66255254e4489"
 },
 "check@a_fig6": {
  "seconds": 2.113,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "9fc60d72e8971abe"
 },
 "check@a_fig7": {
  "seconds": 2.984,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "d786b30b470a43ac"
 },
 "check@a_fig8": {
  "seconds": 3.295,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "60b7e1cf702baa68"
 },
 "check@a_fig9": {
  "seconds": 2.984,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "2fbc0c67ec435a2d"
 },
 "check@a_lem1": {
  "seconds": 2.2,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_lem2": {
  "seconds": 1.819,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_lem3": {
  "seconds": 7.906,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "5aba1dd6acf52e70"
 },
 "check@a_lem4": {
  "seconds": 0.466,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4441d75",
  "settings": "6605624af6d7a801"
 },
 "check@a_lem5": {
  "seconds": 1.939,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_ols": {
  "seconds": 4.075,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_prop1": {
  "seconds": 3.722,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "6dde8277c3d1e9ad"
 },
 "check@a_prop2": {
  "seconds": 1.196,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "1857ede92e0208a8"
 },
 "check@a_prop3": {
  "seconds": 2.344,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "1857ede92e0208a8"
 },
 "check@a_prop4": {
  "seconds": 0.739,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4441d75",
  "settings": "6605624af6d7a801"
 },
 "check@a_thm1": {
  "seconds": 5.568,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@a_thm2": {
  "seconds": 2.934,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e672bd4c09bcdcb2"
 },
 "check@a_thm3": {
  "seconds": 16.159,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "5aba1dd6acf52e70"
 },
 "check@a_thm4": {
  "seconds": 7.903,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "f759bb2acecec596"
 },
 "check@a_tl": {
  "seconds": 2.337,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "9482a9edcee4bf19"
 },
 "check@a_whiten": {
  "seconds": 3.231,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "69699e1dd52dd6d1"
 },
 "check@b_egop": {
  "seconds": 1.329,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e4d3c08456e49f75"
 },
 "check@b_fig1": {
  "seconds": 1.172,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e4d3c08456e49f75"
 },
 "check@b_fig2": {
  "seconds": 4.19,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig3": {
  "seconds": 2.423,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "4cd4177824bbcfc3"
 },
 "check@b_fig4": {
  "seconds": 2.897,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig5": {
  "seconds": 4.881,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig6": {
  "seconds": 5.004,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "2710472ae882095f"
 },
 "check@b_fig7": {
  "seconds": 2.661,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_fig8": {
  "seconds": 4.88,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "b593823c4dc7a4e8"
 },
 "check@b_free": {
  "seconds": 1.784,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "d36f52710c96589b"
 },
 "check@b_prop10": {
  "seconds": 0.957,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "75d267a419c15752"
 },
 "check@b_prop2": {
  "seconds": 0.542,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e30a2a5b78f73a7d"
 },
 "check@b_prop3": {
  "seconds": 6.812,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e50255e1f241a1a7"
 },
 "check@b_prop4": {
  "seconds": 1.529,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e50255e1f241a1a7"
 },
 "check@b_rmt": {
  "seconds": 3.755,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "d8e97013adcf1fe2"
 },
 "check@c_fig1": {
  "seconds": 0.187,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "9757a1b42867dff3"
 },
 "check@c_fig11": {
  "seconds": 0.857,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "06f319ef43a13777"
 },
 "check@c_fig4": {
  "seconds": 1.444,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e1a362a3e8794acc"
 },
 "check@c_fig5": {
  "seconds": 1.378,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "9757a1b42867dff3"
 },
 "check@c_fig6": {
  "seconds": 1.424,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "0df566941d0f0aac"
 },
 "check@c_fig7": {
  "seconds": 1.064,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "0df566941d0f0aac"
 },
 "check@c_lemd_2": {
  "seconds": 1.794,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e1a362a3e8794acc"
 },
 "check@c_lemf_1": {
  "seconds": 0.568,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a081a59b2744199b"
 },
 "check@c_lemf_2": {
  "seconds": 0.681,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a081a59b2744199b"
 },
 "check@c_prop5_1": {
  "seconds": 2.729,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a081a59b2744199b"
 },
 "check@c_rem3_3": {
  "seconds": 3.277,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "7028c77e443fbd3f"
 },
 "check@c_tab2": {
  "seconds": 0.206,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "6efa886+",
  "settings": "d6eb9c4b7af13447"
 },
 "check@c_tab3": {
  "seconds": 0.51,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "5cd8fa646b9fd2c3"
 },
 "check@c_thm3_1": {
  "seconds": 2.096,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "7028c77e443fbd3f"
 },
 "check@c_thm3_4": {
  "seconds": 1.206,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "e1a362a3e8794acc"
 },
 "check@c_thma_1": {
  "seconds": 3.106,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "7028c77e443fbd3f"
 },
 "check@d_alg1": {
  "seconds": 1.946,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "508512ec3e3fab80"
 },
 "check@d_fig1": {
  "seconds": 0.602,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig3": {
  "seconds": 1.555,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig4": {
  "seconds": 1.274,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig5": {
  "seconds": 0.698,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_fig6": {
  "seconds": 0.693,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a27f4ce5b0004c94"
 },
 "check@d_lemb_1": {
  "seconds": 0.913,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "1c5859b238ca5723"
 },
 "check@d_lemb_2": {
  "seconds": 1.024,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "1c5859b238ca5723"
 },
 "check@d_propa_1": {
  "seconds": 1.13,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "1c5859b238ca5723"
 },
 "check@d_svd": {
  "seconds": 0.919,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "2c5c3a1dcfd34b1a"
 },
 "check@d_thm4_3": {
  "seconds": 4.957,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "4058e45090594004"
 },
 "check@d_thm4_4": {
  "seconds": 0.964,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "a80c1c851b02304c"
 },
 "measure@a_differences": {
  "commit": "173e6d1",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 56.117,
  "torch": "2.15.0+cu132"
 },
 "measure@a_features": {
  "seconds": 236.132,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "5e05dcb",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "242610f76db5dd81"
 },
 "measure@a_fig1": {
  "commit": "1048de8",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 1.24,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig10": {
  "commit": "8b27606, 8c02327+, 8a4e0b9",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 2222.444,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig11": {
  "seconds": 1511.946,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "6d3d8ea7",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "ed535d4b5a846d11"
 },
 "measure@a_fig12": {
  "commit": "9dfaa97",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 666.24,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig13": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 105.646,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig2": {
  "commit": "262f0d0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.428,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig4": {
  "commit": "173e6d1",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 1053.035,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig6": {
  "commit": "abffdf0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 1.392,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig7": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 150.64,
  "torch": "2.15.0+cu132"
 },
 "measure@a_fig8": {
  "seconds": 67.758,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "9e2428f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "eba23c7caabae81a"
 },
 "measure@a_fig9": {
  "commit": "abffdf0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 648.992,
  "torch": "2.15.0+cu132"
 },
 "measure@a_linear": {
  "seconds": 93.612,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1851206",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@a_prop1": {
  "seconds": 297.75,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "5e05dcb",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "9edc77a7b4c50b9c"
 },
 "measure@a_taylor": {
  "seconds": 50.38,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4441d75",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "32212dfbeda4290d"
 },
 "measure@a_thm3": {
  "seconds": 145.131,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "7241471",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8ab06e4ba5ae77f5"
 },
 "measure@a_thm4": {
  "seconds": 1237.824,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "7241471",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "b7579dc21d5dbf50"
 },
 "measure@a_tl": {
  "seconds": 21.541,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1851206",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f0840482866b1eee"
 },
 "measure@a_whiten": {
  "seconds": 63.511,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1851206",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@architectures": {
  "seconds": 80.598,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1851206",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "6e8ce73d5d507bad"
 },
 "measure@b_centerings": {
  "commit": "abffdf0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 2039.349,
  "torch": "2.15.0+cu132"
 },
 "measure@b_dynamics": {
  "commit": "bfff253",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 6.089,
  "torch": "2.15.0+cu132"
 },
 "measure@b_fig1": {
  "commit": "4a6dbea",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 1.173,
  "torch": "2.15.0+cu132"
 },
 "measure@b_fig3": {
  "seconds": 1058.18,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "7241471",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8adf9d643104c77d"
 },
 "measure@b_fig6": {
  "commit": "bfff253",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 56.792,
  "torch": "2.15.0+cu132"
 },
 "measure@b_free": {
  "commit": "6e11d1d",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 97.258,
  "torch": "2.15.0+cu132"
 },
 "measure@b_prop10": {
  "commit": "fad3574",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 56.749,
  "torch": "2.15.0+cu132"
 },
 "measure@b_rmt": {
  "commit": "fad3574",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 988.041,
  "torch": "2.15.0+cu132"
 },
 "measure@c_dual": {
  "commit": "44a5abe",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 24.109,
  "torch": "2.15.0+cu132"
 },
 "measure@c_fig11": {
  "commit": "b32ab4c",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 25.46,
  "torch": "2.15.0+cu132"
 },
 "measure@c_modular": {
  "seconds": 515.078,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "7241471",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "5f03c433f087d7f5"
 },
 "measure@c_parity": {
  "commit": "612c98c",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 1633.168,
  "torch": "2.15.0+cu132"
 },
 "measure@c_quadratic": {
  "seconds": 411.051,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "7241471",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "961082e4df51dc29"
 },
 "measure@c_tab2": {
  "commit": "8b27606",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 107.785,
  "torch": "2.15.0+cu132"
 },
 "measure@c_tabular": {
  "seconds": 511.681,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "89d3bdb",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "a8b8dc45edd7e5f5"
 },
 "measure@critical_points": {
  "commit": "44a5abe",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 21.514,
  "torch": "2.15.0+cu132"
 },
 "measure@d_alg1": {
  "seconds": 61.415,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "ab45588",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8ec2ab3ae22e50fb"
 },
 "measure@d_deep_rfm": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 5542.263,
  "torch": "2.15.0+cu132"
 },
 "measure@d_lemmas": {
  "seconds": 57.85,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "ab45588",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@d_svd": {
  "seconds": 2.244,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "ab45588",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f5667125df3b80b8"
 },
 "measure@d_thm4_3": {
  "seconds": 249.19,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "ab45588",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "8c75709bcb90705a"
 },
 "measure@d_thm4_4": {
  "seconds": 30.728,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "ab45588",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "f0840482866b1eee"
 },
 "prepare@addition": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.126,
  "torch": "2.15.0+cu132"
 },
 "prepare@benchmarks": {
  "commit": "4b40083, 8c02327+",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 20.119,
  "torch": "2.15.0+cu132"
 },
 "prepare@chain": {
  "commit": "1048de8",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.399,
  "torch": "2.15.0+cu132"
 },
 "prepare@few_digits": {
  "seconds": 5.062,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "9e2428f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "e5c0ad9df22a174e"
 },
 "prepare@few_photos": {
  "commit": "8c02327",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 11.195,
  "torch": "2.15.0+cu132"
 },
 "prepare@generated": {
  "seconds": 34.003,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "68e2c08",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "d9d874373f6c77e6"
 },
 "prepare@linear_map": {
  "commit": "b32ab4c",
  "cores": 2,
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.216,
  "torch": "2.15.0+cu132"
 },
 "prepare@photo_benchmarks": {
  "commit": "4b40083",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 19.776,
  "torch": "2.15.0+cu132"
 },
 "prepare@photos": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 7.624,
  "torch": "2.15.0+cu132"
 },
 "prepare@staircase": {
  "seconds": 0.301,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "9e2428f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "c89741dd2ed4b39f"
 },
 "prepare@swiss_roll": {
  "commit": "1048de8",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 0.268,
  "torch": "2.15.0+cu132"
 },
 "train@a_differences": {
  "commit": "173e6d1",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 3246.117,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig1": {
  "commit": "1048de8",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 2.562,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig10": {
  "commit": "8b27606, 8c02327+",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 15289.928,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig12": {
  "commit": "8c02327",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 8400.0,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig13": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 3423.529,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig2": {
  "commit": "b32ab4c, 8c02327+, 2d2c407+",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 32983.293,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig4": {
  "commit": "173e6d1",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 5365.83,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig6": {
  "commit": "abffdf0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 7864.528,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig7": {
  "commit": "6c44b43",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 4846.347,
  "torch": "2.15.0+cu132"
 },
 "train@a_fig8": {
  "seconds": 3099.145,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "9e2428f",
  "torch": "2.15.0+cu132",
  "device": "cpu",
  "settings": "eba23c7caabae81a"
 },
 "train@a_fig9": {
  "commit": "abffdf0",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 5925.931,
  "torch": "2.15.0+cu132"
 },
 "train@b_fig1": {
  "commit": "1048de8",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 14.439,
  "torch": "2.15.0+cu132"
 },
 "train@c_fig11": {
  "commit": "b32ab4c",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 3909.023,
  "torch": "2.15.0+cu132"
 },
 "train@c_tab2": {
  "commit": "8b27606",
  "cores": 2,
  "device": "cpu",
  "gpu": "",
  "memory_gib": 24,
  "seconds": 1579.589,
  "torch": "2.15.0+cu132"
 },
 "verdicts@centered_nfa": {
  "seconds": 0.168,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "4f53cda18c2baa0c"
 },
 "verdicts@fact": {
  "seconds": 0.074,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "4f53cda18c2baa0c"
 },
 "verdicts@neural_collapse": {
  "seconds": 0.072,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "1182402",
  "settings": "4f53cda18c2baa0c"
 },
 "verdicts@weight_gram": {
  "seconds": 0.111,
  "cores": 2,
  "memory_gib": 24,
  "gpu": "",
  "commit": "4441d75",
  "settings": "4f53cda18c2baa0c"
 }
};
